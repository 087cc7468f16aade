import { Archive, ArchiveRestore, Check, CircleAlert, Minus, Trash2, X } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { Button, IconButton } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { type BulkAction, runBulkAction } from "./bulk-actions";
import { groupChats } from "./chat-groups";
import { GroupedChats } from "./grouped-chats";
import { selectRange } from "./select-range";
import type { Chats } from "./use-chats";
import { type ChatSession, shownTitle } from "../queries";
import { dayOf } from "../time";

interface ChatSelectionProps {
  chats: Chats;
  /** Chat that is selected at first. */
  first: string | undefined;
  /** True in the sidebar. */
  compact: boolean;
  onEnd: () => void;
}

const PROGRESS_TEXTS = {
  delete: "history.bulk.deleting",
  archive: "history.bulk.archiving",
  unarchive: "history.bulk.unarchiving",
} as const;

interface Progress {
  readonly action: BulkAction;
  readonly done: number;
  readonly all: number;
}

const NONE: ReadonlySet<string> = new Set();

/** The chats with checkboxes, and above them a bar with the actions on those that are selected. */
export function ChatSelection({ chats, first, compact, onEnd }: ChatSelectionProps) {
  const [marked, setMarked] = useState<ReadonlySet<string>>(
    () => new Set(first === undefined ? [] : [first]),
  );
  const [failed, setFailed] = useState(NONE);
  const [progress, setProgress] = useState<Progress>();
  const [isAsking, setAsking] = useState(false);
  const anchor = useRef(first);
  const root = useRef<HTMLDivElement>(null);
  const latest = useRef(chats);
  useEffect(() => {
    latest.current = chats;
  });
  // At first, and after failures: the pressed button is gone.
  useEffect(
    () => focusRow(root.current, failed.size > 0 ? "[data-failed]" : "li [aria-checked=true]"),
    [failed],
  );

  const everyChat = [...groupChats(chats.list).flatMap((group) => group.chats), ...chats.archived];
  const ids = everyChat.map(({ id }) => id);
  // Another tab may have deleted some.
  const selected = everyChat.filter(({ id }) => marked.has(id));
  const isAll = chats.list.length > 0 && chats.list.every(({ id }) => marked.has(id));
  const archives = selected.some((chat) => !chat.archived);
  const isBusy = progress !== undefined;

  function toggle(id: string, isRange: boolean): void {
    const isSelected = !marked.has(id);
    setMarked(selectRange(ids, marked, isRange ? anchor.current : undefined, id, isSelected));
    setAsking(false);
    anchor.current = id;
  }

  function toggleAll(): void {
    setMarked(isAll ? NONE : new Set([...marked, ...chats.list.map(({ id }) => id)]));
    setAsking(false);
  }

  async function run(action: BulkAction): Promise<void> {
    setAsking(false);
    const all = selected.length;
    const show = (done: number) => setProgress({ action, done, all });
    show(0);
    const result = await runBulkAction(action, selected, () => latest.current, show);
    setProgress(undefined);
    if (result.failed.length === 0) {
      onEnd();
      return;
    }
    const rest = new Set(result.failed.map(({ id }) => id));
    setMarked(rest);
    setFailed(rest);
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.key === "Escape") {
      // Otherwise the menu around the list would close, too.
      event.stopPropagation();
      if (isAsking) setAsking(false);
      else if (!isBusy) onEnd();
    } else if (event.key === "a" && (event.ctrlKey || event.metaKey) && !isBusy) {
      event.preventDefault();
      setMarked(new Set([...marked, ...chats.list.map(({ id }) => id)]));
    }
  }

  /** Selects up to the chat that an arrow key with Shift leads to. */
  function extend(event: KeyboardEvent, id: string): void {
    if (!event.shiftKey || (event.key !== "ArrowDown" && event.key !== "ArrowUp")) return;
    const next = ids[ids.indexOf(id) + (event.key === "ArrowDown" ? 1 : -1)];
    if (next === undefined || isBusy) return;
    setMarked(selectRange(ids, marked, id, next, true));
    anchor.current = next;
  }

  return (
    <div
      ref={root}
      role="group"
      aria-label={t("history.select")}
      onKeyDown={onKeyDown}
      // The bar and the list are rows of the sidebar's grid.
      className="contents"
    >
      <div
        className={cn(
          "grid gap-1.5 pt-2.5 pb-2",
          compact ? "border-b border-line px-4.5" : "sticky -top-1.5 z-10 -mx-1.5 -mt-1.5 bg-surface px-4",
        )}
      >
        <div className="flex min-h-8.5 items-center gap-2.5">
          <button
            type="button"
            role="checkbox"
            aria-checked={isAll ? true : selected.length > 0 ? "mixed" : false}
            aria-label={t("history.select.all")}
            title={t("history.select.all")}
            disabled={isBusy}
            onClick={toggleAll}
            className="-m-2 grid size-8.5 shrink-0 place-items-center rounded-[9px] touch:size-11"
          >
            <Box state={isAll ? "on" : selected.length > 0 ? "some" : "off"} />
          </button>
          <p role="status" className="min-w-0 flex-1 truncate text-md font-medium tabular-nums">
            {progress
              ? t(PROGRESS_TEXTS[progress.action], { done: progress.done, all: progress.all })
              : t("history.selected", { n: selected.length })}
          </p>
          {progress && <Spinner />}
          <IconButton
            size="sm"
            label={t("history.select.end")}
            icon={<X />}
            disabled={isBusy}
            onClick={onEnd}
          />
        </div>
        {progress && (
          <progress
            aria-label={t("history.select")}
            className="block h-1 w-full overflow-hidden rounded-full bg-line accent-accent"
            value={progress.done}
            max={progress.all}
          />
        )}
        {!progress && isAsking && (
          <DeleteQuestion
            count={selected.length}
            onDelete={() => void run("delete")}
            onCancel={() => setAsking(false)}
          />
        )}
        {!progress && !isAsking && (
          <div className="flex flex-wrap gap-1.5">
            <Button
              size="sm"
              disabled={selected.length === 0}
              onClick={() => void run(archives ? "archive" : "unarchive")}
            >
              {archives || selected.length === 0 ? (
                <Archive aria-hidden="true" />
              ) : (
                <ArchiveRestore aria-hidden="true" />
              )}
              {t(archives || selected.length === 0 ? "history.archive" : "history.unarchive")}
            </Button>
            <Button size="sm" disabled={selected.length === 0} onClick={() => setAsking(true)}>
              <Trash2 aria-hidden="true" />
              {t("history.delete")}
            </Button>
          </div>
        )}
      </div>
      <div className={cn(compact && "overflow-y-auto overscroll-contain px-2 pb-3")}>
        <GroupedChats
          chats={chats}
          renderRow={(chat) => (
            <SelectableRow
              key={chat.id}
              chat={chat}
              isSelected={marked.has(chat.id)}
              hasFailed={failed.has(chat.id)}
              isDisabled={isBusy}
              compact={compact}
              onToggle={(isRange) => toggle(chat.id, isRange)}
              onKeyDown={(event) => extend(event, chat.id)}
            />
          )}
        />
      </div>
    </div>
  );
}

/** Focuses the first of the wanted chats, or else the checkbox for all chats. */
function focusRow(root: HTMLElement | null, wanted: string): void {
  const row = root?.querySelector<HTMLElement>(wanted);
  (row ?? root?.querySelector<HTMLElement>("[role=checkbox]"))?.focus();
}

interface DeleteQuestionProps {
  count: number;
  onDelete: () => void;
  onCancel: () => void;
}

/** Question before several chats are deleted, in place of the actions. */
function DeleteQuestion({ count, onDelete, onCancel }: DeleteQuestionProps) {
  const cancel = useRef<HTMLButtonElement>(null);
  useEffect(() => cancel.current?.focus(), []);
  const questionId = useId();
  return (
    <div role="group" aria-labelledby={questionId} className="grid animate-enter gap-1.5">
      <p id={questionId} className="text-sm wrap-anywhere">
        {t("history.bulk.ask", { n: count })}
      </p>
      <div className="flex flex-wrap gap-1.5">
        <Button size="sm" variant="danger" className="border-line-strong!" onClick={onDelete}>
          {t("history.delete")}
        </Button>
        <Button ref={cancel} size="sm" variant="quiet" aria-describedby={questionId} onClick={onCancel}>
          {t("history.cancel")}
        </Button>
      </div>
    </div>
  );
}

interface SelectableRowProps {
  chat: ChatSession;
  isSelected: boolean;
  hasFailed: boolean;
  isDisabled: boolean;
  compact: boolean;
  onToggle: (isRange: boolean) => void;
  onKeyDown: (event: KeyboardEvent) => void;
}

function SelectableRow({
  chat,
  isSelected,
  hasFailed,
  isDisabled,
  compact,
  onToggle,
  onKeyDown,
}: SelectableRowProps) {
  return (
    <li>
      <button
        type="button"
        role="checkbox"
        data-line
        data-failed={hasFailed || undefined}
        aria-checked={isSelected}
        aria-disabled={isDisabled}
        onClick={(event) => !isDisabled && onToggle(event.shiftKey)}
        onKeyDown={onKeyDown}
        className={cn(
          "flex w-full items-center gap-2.5 rounded-[9px] px-2.5 py-1.5 text-left text-md select-none touch:min-h-11",
          compact ? "min-h-8.5 hover:bg-ink/5" : "min-h-9.5 hover:bg-sunken",
        )}
      >
        <Box state={isSelected ? "on" : "off"} />
        <span dir="auto" className="min-w-0 flex-1 truncate">
          {shownTitle(chat)}
        </span>{" "}
        {hasFailed && (
          <span title={t("history.bulk.failed")} className="shrink-0 text-err">
            <CircleAlert aria-hidden="true" className="size-4" />
            <span className="sr-only">{t("history.bulk.failed")}</span>
          </span>
        )}{" "}
        {!compact && (
          <time dateTime={chat.updated_at} className="text-sm text-ink-2 tabular-nums">
            {dayOf(chat.updated_at)}
          </time>
        )}
      </button>
    </li>
  );
}

const MARKS: Record<"on" | "some" | "off", ReactNode> = {
  on: <Check aria-hidden="true" strokeWidth={3} />,
  some: <Minus aria-hidden="true" strokeWidth={3} />,
  off: null,
};

/** Box of a checkbox. */
function Box({ state }: { state: "on" | "some" | "off" }) {
  return (
    <span
      aria-hidden="true"
      className={cn(
        "grid size-4.5 shrink-0 place-items-center rounded-[5px] border [&_svg]:size-3",
        state === "off" ? "border-ink-3 bg-surface" : "border-accent bg-accent text-on-accent",
      )}
    >
      {MARKS[state]}
    </span>
  );
}
