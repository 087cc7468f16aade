import { ChevronRight } from "lucide-react";
import { Fragment, memo, type ReactNode } from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { drawable } from "@/markdown/drawable-text";
import type { JsonNode } from "./json-tree";

/** Longer strings are cut until the user asks for the rest. */
const MAX_STRING_CHARS = 300;
/** Levels that are indented; deeper ones would leave no room on a phone. */
const MAX_INDENTED_DEPTH = 12;

interface JsonRowProps {
  /** Id of the element. */
  id: string;
  node: JsonNode;
  /** Number of entries of an array or object. */
  size: number;
  /** True if the node is open, false if it is closed, undefined if it has no children. */
  isOpen: boolean | undefined;
  /** True for the row that the keyboard is on. */
  isActive: boolean;
  /** True once the user has chosen a row. */
  hasSelection: boolean;
  /** Shows a long string as a whole. */
  isWhole: boolean;
  /** Words to mark. */
  pattern: RegExp | undefined;
}

/** Row of a JSON tree. Its tree handles clicks and keys. */
export const JsonRow = memo(
  ({ id, node, size, isOpen, isActive, hasSelection, isWhole, pattern }: JsonRowProps) => (
    <div
      id={id}
      role="treeitem"
      aria-level={node.depth + 1}
      aria-posinset={node.position + 1}
      aria-setsize={node.siblings}
      aria-expanded={isOpen}
      aria-selected={isActive && hasSelection}
      tabIndex={isActive ? 0 : -1}
      data-node={node.id}
      style={{ paddingInlineStart: `${4 + Math.min(node.depth, MAX_INDENTED_DEPTH) * 14}px` }}
      // What is scrolled to keeps off the edges, which fade in a chat.
      className="flex scroll-my-16 cursor-default items-start gap-1 rounded-sm pe-1.5 hover:bg-line/45 focus-visible:-outline-offset-2 aria-selected:bg-accent-soft touch:py-3"
    >
      <ChevronRight
        aria-hidden="true"
        className={cn(
          "mt-[3px] size-3.5 shrink-0 text-ink-3 transition-transform duration-150",
          isOpen === undefined && "invisible",
          isOpen === true && "rotate-90",
        )}
      />
      <span className="min-w-0 whitespace-pre-wrap wrap-anywhere">
        {node.range ? (
          <span className="text-ink-2">{`[${node.range.from} … ${node.range.to - 1}]`}</span>
        ) : (
          <>
            <RowKey node={node} pattern={pattern} />
            <RowValue {...{ value: node.value, size, isOpen, isActive, isWhole, pattern }} />
          </>
        )}
      </span>
    </div>
  ),
);
JsonRow.displayName = "JsonRow";

function RowKey({ node: { key }, pattern }: Pick<JsonRowProps, "node" | "pattern">) {
  if (key === undefined) return null;
  return (
    <>
      {typeof key === "number" ? (
        <span className="text-ink-2">{key}</span>
      ) : (
        <bdi className="text-(--code-name)">{marked(key, pattern)}</bdi>
      )}
      <span className="text-ink-2">{": "}</span>
    </>
  );
}

interface RowValueProps extends Pick<JsonRowProps, "size" | "isOpen" | "isActive" | "isWhole" | "pattern"> {
  value: unknown;
}

function RowValue({ value, size, isOpen, isActive, isWhole, pattern }: RowValueProps) {
  if (typeof value === "string") return <StringValue {...{ value, isActive, isWhole, pattern }} />;
  if (typeof value !== "object" || value === null) {
    const color = typeof value === "number" || typeof value === "bigint" ? "number" : "keyword";
    return <span style={{ color: `var(--code-${color})` }}>{marked(String(value), pattern)}</span>;
  }
  const isArray = Array.isArray(value);
  if (size === 0) return <span className="text-ink-2">{isArray ? "[]" : "{}"}</span>;
  return (
    <span className="text-ink-2">
      {isArray ? "[" : "{"}
      {isOpen === false && (isArray ? "…]" : "…}")}
      <span className="ps-1.5 font-sans text-xs">
        {t(isArray ? "result.tree.items" : "result.tree.keys", { n: size })}
      </span>
    </span>
  );
}

interface StringValueProps extends Pick<JsonRowProps, "isActive" | "isWhole" | "pattern"> {
  value: string;
}

function StringValue({ value, isActive, isWhole, pattern }: StringValueProps) {
  const isCut = isLong(value) && !isWhole;
  // A string that was opened has lines; a short one is written as in JSON.
  const text = isCut
    ? `${JSON.stringify(cut(value)).slice(0, -1)}…`
    : isWhole
      ? `"${value}"`
      : JSON.stringify(value);
  return (
    <>
      <bdi className="text-(--code-string)">{marked(text, pattern)}</bdi>
      {isCut && (
        <button
          type="button"
          tabIndex={isActive ? 0 : -1}
          className="ms-2 rounded-sm font-sans text-xs text-accent underline decoration-1 underline-offset-2 hover:decoration-2 touch:min-h-11 print:hidden"
        >
          {t("result.tree.showString", { n: value.length })}
        </button>
      )}
    </>
  );
}

/** Returns true for a string that is cut at first. */
export function isLong(value: unknown): value is string {
  return typeof value === "string" && value.length > MAX_STRING_CHARS;
}

/** Returns the beginning of a string, without half a character at its end. */
function cut(text: string): string {
  return text.slice(0, MAX_STRING_CHARS).replace(/[\uD800-\uDBFF]$/u, "");
}

/** Renders a text with its matches marked. */
function marked(text: string, pattern: RegExp | undefined): ReactNode {
  const shown = showInvisible(text);
  if (pattern === undefined) return drawable(shown);
  const pieces = shown.split(new RegExp(`(${pattern.source})`, "giu"));
  return pieces.map((piece, index) =>
    // Texts and matches alternate.
    index % 2 === 1 ? (
      <mark key={index} className="rounded-[2px] bg-warn-dot/38 text-ink">
        {drawable(piece)}
      </mark>
    ) : (
      <Fragment key={index}>{drawable(piece)}</Fragment>
    ),
  );
}
