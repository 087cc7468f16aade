import { AlignLeft, Braces, ListTree, Route } from "lucide-react";
import { type KeyboardEvent, type MouseEvent, useId, useLayoutEffect, useMemo, useState } from "react";
import { JsonText } from "@/components/tool-result/text-block";
import { stringifyJson } from "@/lib/json";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { IconButton } from "@/ui/button";
import { CopyJson } from "./copy-json";
import { isLong, JsonRow } from "./json-row";
import { ancestorsOf, hasEntries, type JsonNode, JsonTree, pathTo } from "./json-tree";
import { JsonSearch } from "./json-search";
import { keyAction } from "./tree-keys";

/** Smaller values can be seen at a glance and are not searched. */
const MIN_SEARCHED_ENTRIES = 12;

interface ViewState {
  readonly tree: JsonTree;
  readonly open: ReadonlySet<JsonNode>;
  /** Long strings that are shown as a whole. */
  readonly whole: ReadonlySet<JsonNode>;
  readonly selected: JsonNode | undefined;
  /** Match that is to be in sight; another object each time that it is. */
  readonly revealed: { readonly node: JsonNode } | undefined;
}

function initialState(value: unknown): ViewState {
  const tree = new JsonTree(value);
  return { tree, open: tree.initiallyOpen(), whole: new Set(), selected: undefined, revealed: undefined };
}

/**
 * JSON as a tree of open rows, with search, or as text. Only open rows are in the document, and no row has more than a
 * page of children.
 */
export function JsonTreeView({ value }: { value: unknown }) {
  const [view, setView] = useState(() => initialState(value));
  const [isText, setText] = useState(false);
  const [pattern, setPattern] = useState<RegExp>();
  const isSearched = useMemo(() => hasEntries(value, MIN_SEARCHED_ENTRIES), [value]);
  // Results hardly ever change; a new one begins as the first did.
  if (view.tree.root.value !== value) setView(initialState(value));
  const { tree, selected } = view;
  const node = selected ?? tree.root;

  function reveal(path: readonly (string | number)[]): void {
    const found = tree.find(path);
    if (!found) return;
    setView((before) => ({
      ...shownWhole(opened(before, found), found),
      selected: found,
      revealed: { node: found },
    }));
  }

  return (
    <div className="overflow-hidden rounded-[8px] bg-sunken text-sm">
      {isText ? (
        <JsonText value={value} />
      ) : (
        <>
          {isSearched && <JsonSearch value={value} onPattern={setPattern} onReveal={reveal} />}
          <Rows view={view} pattern={pattern} onChange={setView} />
        </>
      )}
      <div className="flex min-h-8 items-center border-t border-line py-px ps-3 pe-1 print:hidden">
        <span className="me-auto min-w-0 truncate font-mono text-xs text-ink-2">
          {isText ? "" : showInvisible(pathTo(node))}
        </span>
        {!isText && (
          <CopyJson label={t("result.tree.copyPath")} icon={<Route />} write={() => pathTo(node)} />
        )}
        <CopyJson
          label={t("result.tree.copyValue")}
          icon={<Braces />}
          write={() => copiedValue(isText ? tree.root : node, tree)}
        />
        <IconButton
          size="sm"
          label={t(isText ? "result.tree.asTree" : "result.tree.asText")}
          icon={isText ? <ListTree /> : <AlignLeft />}
          onClick={() => setText(!isText)}
        />
      </div>
    </div>
  );
}

interface RowsProps {
  view: ViewState;
  pattern: RegExp | undefined;
  onChange: (change: (before: ViewState) => ViewState) => void;
}

/** The open rows, as a tree of ARIA. */
function Rows({ view, pattern, onChange }: RowsProps) {
  const { tree, open, whole, selected, revealed } = view;
  const id = useId();
  const rows = useMemo(() => tree.visibleNodes(open), [tree, open]);
  const active = selected && rows.includes(selected) ? selected : tree.root;
  const idOf = (node: JsonNode) => `${id}-${node.id}`;

  useLayoutEffect(() => {
    if (revealed) document.getElementById(`${id}-${revealed.node.id}`)?.scrollIntoView({ block: "nearest" });
  }, [id, revealed]);

  function nodeOf(target: EventTarget): JsonNode | undefined {
    const row = target instanceof Element ? target.closest<HTMLElement>("[data-node]") : null;
    const nodeId = Number(row?.dataset["node"]);
    return rows.find((node) => node.id === nodeId);
  }

  function toggle(node: JsonNode): void {
    onChange((before) => shownWhole({ ...toggled(before, node), selected: node }, node));
  }

  function onClick({ target }: MouseEvent): void {
    const node = nodeOf(target);
    // Text that was just selected is to be copied.
    if (!node || getSelection()?.isCollapsed === false) return;
    // The button of a long string goes with its click, and would take the focus with it.
    if (target instanceof HTMLButtonElement) document.getElementById(idOf(node))?.focus();
    toggle(node);
  }

  function onKeyDown(event: KeyboardEvent): void {
    const { key, target } = event;
    const node = nodeOf(target);
    if (!node || event.ctrlKey || event.metaKey || event.altKey) return;
    // The button of a long string has keys of its own.
    if (target instanceof HTMLButtonElement) return;
    const action = keyAction(key, node, { tree, open, rows });
    if (!action) return;
    event.preventDefault();
    if ("toggle" in action) toggle(action.toggle);
    else document.getElementById(idOf(action.focus))?.focus();
  }

  return (
    // oxlint-disable-next-line jsx-a11y/interactive-supports-focus -- Its rows take the focus, one of them by Tab.
    <div
      role="tree"
      aria-label={t("result.tree")}
      dir="ltr"
      onClick={onClick}
      onKeyDown={onKeyDown}
      onFocus={({ target }) => {
        const node = nodeOf(target);
        if (node) onChange((before) => (before.selected === node ? before : { ...before, selected: node }));
      }}
      className="max-h-[min(28rem,70dvh)] overflow-y-auto overscroll-contain p-1.5 font-mono print:max-h-none"
    >
      {rows.map((node) => (
        <JsonRow
          key={node.id}
          id={idOf(node)}
          node={node}
          size={tree.sizeOf(node.value)}
          isOpen={tree.isBranch(node) ? open.has(node) : undefined}
          isActive={node === active}
          hasSelection={selected !== undefined}
          isWhole={whole.has(node)}
          pattern={pattern}
        />
      ))}
    </div>
  );
}

function toggled(view: ViewState, node: JsonNode): ViewState {
  if (!view.tree.isBranch(node)) return view;
  const open = new Set(view.open);
  if (!open.delete(node)) open.add(node);
  return { ...view, open };
}

/** Opens everything around a node. */
function opened(view: ViewState, node: JsonNode): ViewState {
  return { ...view, open: new Set([...view.open, ...ancestorsOf(node)]) };
}

/** Shows the string of a node as a whole, if it is cut. */
function shownWhole(view: ViewState, node: JsonNode): ViewState {
  if (node.range || !isLong(node.value) || view.whole.has(node)) return view;
  return { ...view, whole: new Set([...view.whole, node]) };
}

/** Returns what is copied of a node: strings as they are, entries of a range, or JSON. */
function copiedValue(node: JsonNode, tree: JsonTree): string {
  const { value, range } = node;
  if (range) {
    const entries = tree.entriesOf(node);
    return stringifyJson(
      Array.isArray(value) ? entries.map(([, entry]) => entry) : Object.fromEntries(entries),
      2,
    );
  }
  return typeof value === "string" ? value : stringifyJson(value, 2);
}
