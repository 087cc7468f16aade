import { Ellipsis, Trash2 } from "lucide-react";
import { useRef, useState, useSyncExternalStore } from "react";
import { cn } from "@/lib/cn";
import { turnStateOf, subscribeEvents } from "@/lib/events";
import { t } from "@/lib/later-texts";
import { useMedia } from "@/lib/use-media";
import { IconButton } from "@/ui/button";
import { ActionMenu } from "@/ui/menu";
import { Spinner } from "@/ui/spinner";
import type { ChatActions } from "./chat-actions";
import { type ChatForm, chatMenuActions, type ChatMenuOptions } from "./chat-menu-actions";
import { RenameForm } from "./rename-form";
import { ShareForm } from "./share-form";
import { useIsUnread } from "./unread-chats";
import { type ChatSession, shownTitle } from "../queries";
import { dayOf } from "../time";

interface ChatRowProps {
  chat: ChatSession;
  active: boolean;
  deletable: boolean;
  actions: ChatActions;
  /** True in the sidebar: the title and a dot, with the menu on the row that is pointed at or focused, or on a touch screen on every row. */
  compact: boolean;
  /** The form that is open below this chat. */
  form: ChatForm | undefined;
  onForm: (form: ChatForm | undefined) => void;
  onOpen: () => void;
  /** Begins to select chats with this one. */
  onSelect: () => void;
}

/** One chat of the list: a click opens it, the dots open its menu. */
export function ChatRow({
  chat,
  active,
  deletable,
  actions,
  compact,
  form,
  onForm,
  onOpen,
  onSelect,
}: ChatRowProps) {
  const row = useRef<HTMLLIElement>(null);
  // A hundred menus that nobody opens would make the sidebar slow.
  const [wasTouched, setTouched] = useState(false);
  // A finger points at no row before it presses one.
  const isTouch = useMedia("(pointer: coarse)");
  const isUnread = useIsUnread(chat.id) && !active;
  const shown = shownTitle(chat);
  const touch = () => setTouched(true);
  function leaveRow(): void {
    if (row.current) focusNeighbour(row.current);
  }
  const menu = (
    <ChatMenu
      chat={chat}
      actions={actions}
      onForm={onForm}
      onSelect={onSelect}
      onLeave={leaveRow}
      // The rows of the dropdown have a button for it.
      deletes={compact && deletable}
    />
  );
  function closeForm(): void {
    onForm(undefined);
    row.current?.querySelector<HTMLElement>("[data-line]")?.focus();
  }
  return (
    <li
      ref={row}
      onPointerEnter={touch}
      onFocus={touch}
      className={cn("group relative rounded-[9px] text-md", rowClass(compact, active || form !== undefined))}
    >
      <div className={cn("flex items-center", !compact && "pr-1")}>
        <button
          type="button"
          data-line
          aria-current={active || undefined}
          className={cn(
            "flex min-w-0 flex-1 items-center gap-2.5 rounded-[9px] py-1.5 pl-2.5 text-left touch:min-h-11",
            compact
              ? "min-h-8.5 pr-2.5 group-has-focus-visible:pr-9 group-hover:pr-9 touch:pr-12"
              : "min-h-9.5",
          )}
          onClick={onOpen}
        >
          <span dir="auto" className={cn("min-w-0 flex-1 truncate", isUnread && "font-semibold")}>
            {shown}
          </span>{" "}
          <ChatMark chatId={chat.id} isUnread={isUnread} compact={compact} />{" "}
          {!compact && (
            <time dateTime={chat.updated_at} className="pr-1 text-sm text-ink-2 tabular-nums">
              {dayOf(chat.updated_at)}
            </time>
          )}
        </button>
        {deletable && !compact && (
          <IconButton
            size="sm"
            label={t("chat.delete", { title: shown })}
            icon={<Trash2 />}
            onClick={(event) => {
              focusNeighbour(event.currentTarget);
              actions.remove(chat);
            }}
          />
        )}
        {!compact && menu}
        {compact && (wasTouched || isTouch) && (
          <div className="absolute top-0.5 right-1 opacity-0 touch:top-0 touch:opacity-100 group-hover:opacity-100 group-has-focus-visible:opacity-100 has-[[aria-expanded=true]]:opacity-100">
            {menu}
          </div>
        )}
      </div>
      {form && (
        <div className="animate-enter px-1.5 pb-2">
          {form === "rename" ? (
            <RenameForm
              title={chat.title}
              onSave={(title) => {
                actions.rename(chat, title);
                closeForm();
              }}
              onCancel={closeForm}
            />
          ) : (
            <ShareForm chatId={chat.id} onCancel={closeForm} />
          )}
        </div>
      )}
    </li>
  );
}

/** Button with the menu of a chat. */
function ChatMenu(options: ChatMenuOptions) {
  return (
    <ActionMenu
      label={t("history.more", { title: shownTitle(options.chat) })}
      icon={<Ellipsis />}
      groups={chatMenuActions(options)}
    />
  );
}

function rowClass(compact: boolean, isMarked: boolean): string {
  if (!compact) return isMarked ? "bg-sunken" : "hover:bg-sunken";
  return isMarked ? "bg-surface shadow-raised" : "hover:bg-ink/5";
}

interface ChatMarkProps {
  chatId: string;
  isUnread: boolean;
  compact: boolean;
}

/** Indicator of a chat that waits for the user, that is being answered, or that has a new answer. */
function ChatMark({ chatId, isUnread, compact }: ChatMarkProps) {
  const state = useSyncExternalStore(subscribeEvents, () => turnStateOf(chatId));
  if (state === "waiting" && compact) return <Dot label={t("history.waiting")} className="bg-warn-dot" />;
  if (state === "waiting")
    return (
      <span className="shrink-0 rounded-full bg-warn-soft px-2 text-xs font-medium text-warn">
        {t("history.waiting")}
      </span>
    );
  if (state === "started" && compact) return <Dot label={t("history.running")} className="bg-accent" />;
  if (state === "started")
    return (
      <span className="shrink-0 text-ink-2">
        <Spinner />
        <span className="sr-only">{t("history.running")}</span>
      </span>
    );
  return isUnread ? <Dot label={t("history.unread")} className="bg-accent" /> : null;
}

function Dot({ label, className }: { label: string; className: string }) {
  return (
    <span title={label} className={cn("size-2 shrink-0 rounded-full", className)}>
      <span className="sr-only">{label}</span>
    </span>
  );
}

/** Moves the focus to a neighbour of a chat that disappears, so that keyboard users keep their position. */
function focusNeighbour(inside: Element): void {
  const list = inside.closest("[data-chat-list]") ?? document;
  const lines = [...list.querySelectorAll<HTMLElement>("[data-line]")];
  const own = inside.closest("li")?.querySelector<HTMLElement>("[data-line]");
  const at = own ? lines.indexOf(own) : -1;
  (lines[at + 1] ?? lines[at - 1])?.focus();
}
