import {
  Archive,
  ArchiveRestore,
  Braces,
  Ellipsis,
  FileDown,
  Pencil,
  Pin,
  PinOff,
  Share2,
  Trash2,
} from "lucide-react";
import { useRef, useSyncExternalStore } from "react";
import { turnStateOf, subscribeEvents } from "@/lib/events";
import { t } from "@/lib/later-texts";
import { IconButton } from "@/ui/button";
import { ActionMenu } from "@/ui/menu";
import { Spinner } from "@/ui/spinner";
import type { ChatActions } from "./chat-actions";
import { RenameForm } from "./rename-form";
import { ShareForm } from "./share-form";
import { type ChatSession, shownTitle } from "../queries";
import { dayOf } from "../time";

/** Form that opens below a chat in the list. */
export type ChatForm = "rename" | "share";

interface ChatRowProps {
  chat: ChatSession;
  active: boolean;
  deletable: boolean;
  actions: ChatActions;
  /** The form that is open below this chat. */
  form: ChatForm | undefined;
  onForm: (form: ChatForm | undefined) => void;
  onOpen: () => void;
}

/** One chat of the list: a click opens it, the dots open its menu. */
export function ChatRow({ chat, active, deletable, actions, form, onForm, onOpen }: ChatRowProps) {
  const row = useRef<HTMLLIElement>(null);
  const shown = shownTitle(chat);
  const { pinned = false, archived = false } = chat;
  function closeForm(): void {
    onForm(undefined);
    row.current?.querySelector<HTMLElement>("[data-line]")?.focus();
  }
  return (
    <li ref={row} className={`rounded-[9px] text-md ${active || form ? "bg-sunken" : "hover:bg-sunken"}`}>
      <div className="flex items-center pr-1">
        <button
          type="button"
          data-line
          aria-current={active || undefined}
          className="flex min-h-9.5 min-w-0 flex-1 items-center gap-2.5 rounded-[9px] py-1.5 pl-2.5 text-left touch:min-h-11"
          onClick={onOpen}
        >
          <span dir="auto" className="min-w-0 flex-1 truncate">
            {shown}
          </span>{" "}
          <RunMark chatId={chat.id} />{" "}
          <time dateTime={chat.updated_at} className="pr-1 text-sm text-ink-2 tabular-nums">
            {dayOf(chat.updated_at)}
          </time>
        </button>
        {deletable && (
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
        <ActionMenu
          label={t("history.more", { title: shown })}
          icon={<Ellipsis />}
          groups={[
            [
              {
                icon: <Pencil />,
                label: t("history.rename"),
                movesFocus: true,
                onSelect: () => onForm("rename"),
              },
              {
                icon: pinned ? <PinOff /> : <Pin />,
                label: t(pinned ? "history.unpin" : "history.pin"),
                onSelect: () => actions.pin(chat, !pinned),
              },
              {
                icon: archived ? <ArchiveRestore /> : <Archive />,
                label: t(archived ? "history.unarchive" : "history.archive"),
                movesFocus: true,
                onSelect: () => {
                  if (row.current) focusNeighbour(row.current);
                  actions.archive(chat, !archived);
                },
              },
            ],
            [
              {
                icon: <Share2 />,
                label: t("history.share"),
                movesFocus: true,
                onSelect: () => onForm("share"),
              },
              {
                icon: <FileDown />,
                label: t("history.markdown"),
                onSelect: () => actions.download(chat, "markdown"),
              },
              {
                icon: <Braces />,
                label: t("history.json"),
                onSelect: () => actions.download(chat, "json"),
              },
            ],
          ]}
        />
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

/** Indicator of a chat with a running turn, or with one that waits for the user. */
function RunMark({ chatId }: { chatId: string }) {
  const state = useSyncExternalStore(subscribeEvents, () => turnStateOf(chatId));
  if (state === "waiting")
    return (
      <span className="shrink-0 rounded-full bg-warn-soft px-2 text-xs font-medium text-warn">
        {t("history.waiting")}
      </span>
    );
  if (state === "started")
    return (
      <span className="shrink-0 text-ink-2">
        <Spinner />
        <span className="sr-only">{t("history.running")}</span>
      </span>
    );
  return null;
}

/** Moves the focus to a neighbour of a chat that disappears, so that keyboard users keep their position. */
function focusNeighbour(inside: Element): void {
  const list = inside.closest("[role=dialog]") ?? document;
  const lines = [...list.querySelectorAll<HTMLElement>("[data-line]")];
  const own = inside.closest("li")?.querySelector<HTMLElement>("[data-line]");
  const at = own ? lines.indexOf(own) : -1;
  (lines[at + 1] ?? lines[at - 1])?.focus();
}
