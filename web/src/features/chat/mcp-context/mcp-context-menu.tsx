import { FileText, FolderSearch, MessageSquareQuote } from "lucide-react";
import {
  type KeyboardEvent,
  type Ref,
  useEffect,
  useId,
  useImperativeHandle,
  useState,
  useSyncExternalStore,
} from "react";
import { formatList } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { ServerIcon } from "@/ui/server-icon";
import { displayNameOf, findMatches, promptList, resourceList, uriOf } from "./mcp-context-list";
import type { PromptOrResource } from "./queries";

/** Keyboard access of the field to the list. */
export interface McpContextMenuHandle {
  /** Returns true if the list handled the key; the field must then ignore it. */
  readonly onKey: (event: KeyboardEvent) => boolean;
}

interface McpContextMenuProps {
  ref: Ref<McpContextMenuHandle>;
  kind: "prompt" | "resource";
  query: string;
  /** Reports the list that the field controls and its active option. */
  onActive: (active: { listId: string; optionId: string | undefined } | undefined) => void;
  onPick: (item: PromptOrResource) => void;
  onClose: () => void;
}

const STEPS: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** List of the prompts or resources that match the typed text. The focus stays in the field. */
export function McpContextMenu({ ref, kind, query, onActive, onPick, onClose }: McpContextMenuProps) {
  const listId = useId();
  const source = kind === "prompt" ? promptList : resourceList;
  const { list, isLoading, failed, truncated } = useSyncExternalStore(source.subscribe, source.get);
  const found = findMatches(
    list.filter((item) => (item.kind === "prompt") === (kind === "prompt")),
    query,
  );
  const [chosen, setChosen] = useState({ query, index: 0 });
  const index = chosen.query === query ? Math.min(chosen.index, found.length - 1) : 0;
  const active = found[index];
  const optionId = active && `${listId}-${index}`;
  // A text that matches nothing is ordinary text, so no list covers it.
  const isShown = found.length > 0 || (query === "" && (isLoading || failed.length > 0 || list.length === 0));

  useEffect(() => {
    onActive(isShown ? { listId, optionId } : undefined);
    return () => onActive(undefined);
  }, [onActive, isShown, listId, optionId]);

  useEffect(() => {
    if (optionId !== undefined) document.getElementById(optionId)?.scrollIntoView({ block: "nearest" });
  }, [optionId]);

  function onKey({ key, shiftKey }: KeyboardEvent): boolean {
    if (!isShown) return false;
    if (key === "Escape") {
      onClose();
      return true;
    }
    if (active === undefined) return false;
    const step = STEPS[key];
    if (step !== undefined) setChosen({ query, index: (index + step + found.length) % found.length });
    else if (key === "Enter" && !shiftKey) onPick(active);
    return step !== undefined || (key === "Enter" && !shiftKey);
  }
  useImperativeHandle(ref, () => ({ onKey }));

  if (!isShown) return null;
  return (
    <div className="absolute right-0 bottom-full left-0 z-10 mb-2 animate-enter rounded-lg border border-line bg-surface p-1.5 shadow-float">
      <p role="status" className={found.length > 0 ? "sr-only" : "px-2.5 py-2 text-md text-ink-2"}>
        {found.length > 0
          ? t(kind === "prompt" ? "offers.prompts.count" : "offers.resources.count", { n: found.length })
          : t(emptyKey(kind, isLoading))}
      </p>
      <div
        id={listId}
        role="listbox"
        // Keyboard users can tab into the list as well.
        tabIndex={0}
        aria-activedescendant={optionId}
        onKeyDown={(event) => onKey(event) && event.preventDefault()}
        onBlur={onClose}
        // Keep the focus in the field.
        onMouseDown={(event) => event.preventDefault()}
        aria-label={t(kind === "prompt" ? "offers.prompts" : "offers.resources")}
        className="max-h-[min(340px,45dvh)] overflow-auto overscroll-contain"
      >
        {found.map((item, place) => (
          <Option
            key={`${item.connectionId} ${item.kind} ${displayNameOf(item)} ${uriOf(item)}`}
            id={`${listId}-${place}`}
            item={item}
            isActive={place === index}
            onPoint={() => setChosen({ query, index: place })}
            onPick={() => onPick(item)}
          />
        ))}
      </div>
      {truncated.length > 0 && (
        <p className="px-2.5 py-2 text-sm wrap-anywhere text-ink-2">
          {t("offers.cut", { names: formatList(truncated) })}
        </p>
      )}
      {failed.length > 0 && query === "" && (
        <p className="px-2.5 py-2 text-sm wrap-anywhere text-warn">
          {t("offers.failed", { names: formatList(failed) })}
        </p>
      )}
    </div>
  );
}

function emptyKey(kind: "prompt" | "resource", isLoading: boolean) {
  if (isLoading) return "offers.loading";
  return kind === "prompt" ? "offers.prompts.none" : "offers.resources.none";
}

interface OptionProps {
  id: string;
  item: PromptOrResource;
  isActive: boolean;
  onPoint: () => void;
  onPick: () => void;
}

function Option({ id, item, isActive, onPoint, onPick }: OptionProps) {
  const { about, icons } = detailsOf(item);
  const Fallback = FALLBACKS[item.kind];
  return (
    // Keys reach the list through the field.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      id={id}
      role="option"
      tabIndex={-1}
      aria-selected={isActive}
      onPointerMove={isActive ? undefined : onPoint}
      onClick={onPick}
      className={`grid cursor-default grid-cols-[auto_minmax(0,1fr)_auto] items-center gap-x-2.5 rounded-md px-2.5 py-2 text-md touch:min-h-11 ${isActive ? "bg-sunken" : ""}`}
    >
      <ServerIcon connectionId={item.connectionId} icons={icons} fallback={<Fallback />} />
      <span className="truncate font-medium">
        {item.kind === "prompt" ? `/${displayNameOf(item)}` : showInvisible(displayNameOf(item))}
      </span>
      <span className="max-w-32 truncate text-sm text-ink-2">{item.serverName}</span>
      {about !== "" && (
        <span className="col-start-2 col-end-4 truncate text-sm text-ink-2">{showInvisible(about)}</span>
      )}
    </div>
  );
}

const FALLBACKS = { prompt: MessageSquareQuote, resource: FileText, template: FolderSearch };

function detailsOf(item: PromptOrResource) {
  if (item.kind === "prompt") {
    const { title, description, icons } = item.prompt;
    return { about: [title, description].filter(Boolean).join(" – "), icons };
  }
  const { description, icons } = item.kind === "resource" ? item.resource : item.template;
  return { about: description ?? uriOf(item), icons };
}
