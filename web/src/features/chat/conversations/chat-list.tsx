import { EyeOff, ListChecks, PanelLeftClose } from "lucide-react";
import { type KeyboardEvent, useEffect, useId, useRef, useState } from "react";
import { t } from "@/lib/later-texts";
import { cn } from "@/lib/cn";
import { IconButton } from "@/ui/button";
import { Input } from "@/ui/field";
import { useClosePopover } from "@/ui/popover";
import { toastError } from "@/ui/toast";
import { type ChatActions, chatActions } from "./chat-actions";
import type { ChatForm } from "./chat-menu-actions";
import { ChatRow } from "./chat-row";
import { ChatSelection } from "./chat-selection";
import { GroupedChats } from "./grouped-chats";
import { SearchResults } from "./search-results";
import { openTemporary } from "./temporary-chat";
import type { Chats } from "./use-chats";
import type { ScrollTarget } from "../transcript/scroll-controller";

interface ChatListProps {
  chats: Chats;
  onReveal: (jump: ScrollTarget) => void;
  /** Hides the sidebar that the list is in; absent in the menu. */
  onHide?: () => void;
}

/** Time without typing before a search starts. */
const SEARCH_DEBOUNCE_MS = 120;

/** Content of the chat menu and of the sidebar: a search field, and below it the results, or all chats by date. */
export function ChatList({ chats, onReveal, onHide }: ChatListProps) {
  const [typed, setTyped] = useState("");
  const [query, setQuery] = useState("");
  const debounce = useRef<ReturnType<typeof setTimeout>>(undefined);
  const root = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const headingId = useId();
  const [selection, setSelection] = useState<{ readonly first?: string }>();
  const wasSelecting = useRef(false);
  const actions = chatActions(chats);
  const close = useClosePopover();
  const inSidebar = onHide !== undefined;

  useEffect(() => {
    if (inSidebar) return;
    // Focus the search field only on devices with a hardware keyboard; an on-screen one would cover the list.
    if (matchMedia("(hover: hover)").matches) field.current?.focus();
  }, [inSidebar]);

  const open = (id: string) => {
    close();
    return actions.open(id);
  };

  const beginTemporary = async () => {
    close();
    try {
      chats.openTemporary(await openTemporary(chats.userId));
    } catch (error) {
      toastError(error);
    }
  };

  useEffect(() => {
    // The bar that had the focus is gone.
    if (wasSelecting.current && !selection)
      root.current?.querySelector<HTMLElement>("[data-select-chats]")?.focus();
    wasSelecting.current = selection !== undefined;
  }, [selection]);

  const selectButton = chats.list.length + chats.archived.length > 1 && (
    <IconButton
      size="sm"
      data-select-chats=""
      label={t("history.select")}
      icon={<ListChecks />}
      onClick={() => setSelection({})}
    />
  );
  const heading = (
    <h3
      id={headingId}
      className={
        inSidebar || selection
          ? "sr-only"
          : "min-w-0 flex-1 px-2.5 pt-2.5 pb-2 text-xs font-normal text-ink-2"
      }
    >
      {t("chat.recent")}
    </h3>
  );
  return (
    <div
      ref={root}
      role="group"
      aria-labelledby={headingId}
      data-chat-list=""
      onKeyDown={(event) => moveFocus(event, root.current)}
      className={cn(inSidebar && "grid h-full grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)]")}
    >
      {selection ? (
        <>
          {heading}
          <ChatSelection
            chats={chats}
            first={selection.first}
            compact={inSidebar}
            onEnd={() => setSelection(undefined)}
          />
        </>
      ) : (
        <>
          <div className={cn(inSidebar && "flex items-center gap-1 px-2.5 pt-2.5 pb-2")}>
            {inSidebar ? (
              heading
            ) : (
              <div className="flex items-center pr-1">
                {heading}
                {selectButton}
              </div>
            )}
            <div className={inSidebar ? "min-w-0 flex-1" : "px-1 pb-1"}>
              <Input
                ref={field}
                type="search"
                aria-label={t("history.search")}
                placeholder={t("history.search")}
                autoComplete="off"
                maxLength={200}
                value={typed}
                onChange={(event) => {
                  const { value } = event.target;
                  setTyped(value);
                  clearTimeout(debounce.current);
                  debounce.current = setTimeout(() => setQuery(value.trim()), SEARCH_DEBOUNCE_MS);
                }}
                className={cn(inSidebar && "h-8.5! text-md")}
              />
            </div>
            {inSidebar ? (
              <>
                {selectButton}
                <IconButton
                  size="sm"
                  label={t("chat.sidebar.hide")}
                  icon={<PanelLeftClose />}
                  onClick={onHide}
                />
              </>
            ) : (
              <button
                type="button"
                onClick={() => void beginTemporary()}
                className="flex min-h-9 w-full items-center gap-2.5 rounded-[9px] px-2.5 text-left text-sm hover:bg-sunken touch:min-h-11"
              >
                <EyeOff aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
                {t("history.temporary.new")}
              </button>
            )}
          </div>
          <div className={cn(inSidebar && "overflow-y-auto overscroll-contain px-2 pb-3")}>
            {typed.trim() === "" ? (
              <RecentChats
                chats={chats}
                actions={actions}
                compact={inSidebar}
                onOpen={(id) => void open(id)}
                onSelect={(id) => setSelection({ first: id })}
              />
            ) : (
              <SearchResults query={query} chats={chats} open={open} onReveal={onReveal} />
            )}
          </div>
        </>
      )}
    </div>
  );
}

interface RecentChatsProps {
  chats: Chats;
  actions: ChatActions;
  compact: boolean;
  onOpen: (id: string) => void;
  /** Begins to select chats, with this one selected. */
  onSelect: (id: string) => void;
}

function RecentChats({ chats, actions, compact, onOpen, onSelect }: RecentChatsProps) {
  const [form, setForm] = useState<{ chatId: string; form: ChatForm }>();
  return (
    <GroupedChats
      chats={chats}
      renderRow={(chat) => (
        <ChatRow
          key={chat.id}
          chat={chat}
          active={chat.id === chats.active?.id}
          deletable={chats.list.length > 1 || chat.archived === true}
          actions={actions}
          compact={compact}
          form={form?.chatId === chat.id ? form.form : undefined}
          onForm={(next) => setForm(next && { chatId: chat.id, form: next })}
          onOpen={() => onOpen(chat.id)}
          onSelect={() => onSelect(chat.id)}
        />
      )}
    />
  );
}

/** Moves the focus with the arrow keys: from row to row, and from the first one back to the field. */
function moveFocus(event: KeyboardEvent, root: HTMLElement | null): void {
  if ((event.key !== "ArrowDown" && event.key !== "ArrowUp") || !root) return;
  const target = event.target as HTMLElement;
  if (target instanceof HTMLInputElement && target.type !== "search") return;
  const stops = [...root.querySelectorAll<HTMLElement>("input[type=search], [data-line]")];
  const row = target.closest("li")?.querySelector<HTMLElement>("[data-line]") ?? target;
  const next = stops[stops.indexOf(row) + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
