import type { Definition, Root, RootContent } from "mdast";
import { parseMarkdown } from "./parse";
import { isCheapToParse } from "./parse-cost";
import { repairTail } from "./repair-tail";
import { plainText } from "./text-nodes";

/** Top-level block with a key that is stable while the text grows. */
export interface Block {
  readonly key: number;
  readonly node: RootContent;
}

/** Targets of reference links. */
export type Definitions = ReadonlyMap<string, Definition>;

/** State of a growing text and its blocks. */
export interface MarkdownState {
  readonly text: string;
  readonly complete: boolean;
  /** Blocks that further text cannot change. */
  readonly finished: readonly Block[];
  /** Offset of the first block that can still change. */
  readonly tailStart: number;
  /** Later blocks, with unfinished markup completed for display. */
  readonly tail: readonly Block[];
  /** Offset of the code if the tail is only an open code block; otherwise 0. */
  readonly codeStart: number;
  /** Link definitions so far, by identifier. */
  readonly definitions: Definitions;
  /** True if a block defines a link or a footnote that earlier blocks may refer to. */
  readonly reachesBack: boolean;
  /** Complete text that a worker has to parse, if it is slow; its blocks are plain text until then. */
  readonly slowText: string | null;
  /** Number of characters parsed so far. */
  readonly lexed: number;
}

export const EMPTY_MARKDOWN: MarkdownState = {
  text: "",
  complete: false,
  finished: [],
  tailStart: 0,
  tail: [],
  codeStart: 0,
  definitions: new Map(),
  reachesBack: false,
  slowText: null,
  lexed: 0,
};

/** Opening line of a code block. */
const FENCE = /^(?:`{3}|~{3})[^\n]*\n/u;
/** Line that may close a code block, or characters that the parser changes. */
const DECISIVE = /^ {0,3}(?:`+|~+)[ \t]*$|[\0\r]/mu;

/** First line of a math block. */
const MATH_LINE = /^[ \t>]*(?:\\\[|\$\$)/mu;

const reachesBack = (node: RootContent): boolean =>
  node.type === "definition" || node.type === "footnoteDefinition";

/**
 * Returns the state for `text`. If it continues the previous text, only the part after the finished blocks is parsed. A
 * complete text with definitions is parsed as a whole, since those affect earlier blocks.
 *
 * Text that is slow to parse is plain text while it grows. Once it is complete, `slow` is its tree from a worker, or
 * null if parsing timed out.
 */
export function advance(
  before: MarkdownState,
  text: string,
  complete: boolean,
  slow?: Root | null,
): MarkdownState {
  if (before.text === text && before.complete === complete)
    return slow === undefined || before.slowText !== text ? before : settle(before, slow);
  // Complete texts were not parsed to be continued.
  const continues = !before.complete && text.startsWith(before.text);
  const start = continues ? before : EMPTY_MARKDOWN;
  const source = text.slice(start.tailStart);
  if (complete) return finish(start, text, source);
  const [block] = start.tail;
  // Code can be long, and while it is open each line only extends it.
  if (start.codeStart > 0 && block && !DECISIVE.test(text.slice(start.text.lastIndexOf("\n") + 1))) {
    const node = { ...block.node, value: text.slice(start.codeStart).replace(/\n$/u, "") };
    const lexed = start.lexed + text.length - start.text.length;
    return { ...start, text, tail: [{ ...block, node }], lexed };
  }

  if (!isCheapToParse(source)) {
    const node = plainText(source);
    return { ...start, text, complete, tail: [{ key: start.finished.length, node }], codeStart: 0 };
  }
  const root = parseMarkdown(source);
  const settled = countSettled(root, source);
  const taken = root.children.slice(0, settled);
  const finished = [
    ...start.finished,
    ...taken.map((node, index) => ({ key: start.finished.length + index, node })),
  ];
  const rest = settled === 0 ? source : source.slice(offsetOf(root.children[settled], source.length));
  const repaired = repairTail(rest);
  // A text that needs no repair has just been parsed.
  const tail = repaired === rest ? root.children.slice(settled) : parseMarkdown(repaired).children;
  const opening = tail.length === 1 && tail[0]?.type === "code" ? FENCE.exec(rest)?.[0].length : undefined;
  return {
    text,
    complete,
    finished: taken.length > 0 ? finished : start.finished,
    tailStart: text.length - rest.length,
    tail: tail.map((node, index) => ({ key: finished.length + index, node })),
    codeStart: opening && !DECISIVE.test(rest.slice(opening)) ? text.length - rest.length + opening : 0,
    definitions: withDefinitions(start.definitions, taken),
    reachesBack: start.reachesBack || taken.some(reachesBack),
    slowText: null,
    lexed: start.lexed + source.length + (repaired === rest ? 0 : repaired.length),
  };
}

function finish(start: MarkdownState, text: string, source: string): MarkdownState {
  if (!isCheapToParse(source)) return slowly(start, text, [plainText(source)]);
  const tail = parseMarkdown(source).children;
  const hasDefinitions = start.reachesBack || tail.some(reachesBack);
  const isPartial = hasDefinitions && start.finished.length > 0;
  if (isPartial && !isCheapToParse(text)) return slowly(start, text, tail);
  const whole = isPartial ? parseMarkdown(text).children : null;
  const kept = whole ? [] : start.finished;
  const nodes = whole ?? tail;
  const blocks = nodes.map((node, index) => ({ key: kept.length + index, node }));
  return {
    text,
    complete: true,
    finished: [...kept, ...blocks],
    tailStart: text.length,
    tail: [],
    codeStart: 0,
    definitions: withDefinitions(start.definitions, nodes),
    reachesBack: hasDefinitions,
    slowText: null,
    lexed: start.lexed + source.length + (whole ? text.length : 0),
  };
}

/** Shows the known blocks of a complete text until a worker has parsed it. */
function slowly(start: MarkdownState, text: string, rest: readonly RootContent[]): MarkdownState {
  const blocks = rest.map((node, index) => ({ key: start.finished.length + index, node }));
  return {
    ...start,
    text,
    complete: true,
    finished: [...start.finished, ...blocks],
    tailStart: text.length,
    tail: [],
    codeStart: 0,
    definitions: withDefinitions(start.definitions, rest),
    slowText: text,
  };
}

/** Applies the tree of a complete text that a worker parsed. */
function settle(before: MarkdownState, root: Root | null): MarkdownState {
  if (root === null) return { ...before, slowText: null };
  const finished = root.children.map((node, key) => ({ key, node }));
  const definitions = withDefinitions(new Map(), root.children);
  return { ...before, finished, definitions, slowText: null };
}

/** Returns the same map if nothing was added, so that finished blocks are not rendered again. */
function withDefinitions(known: Definitions, nodes: readonly RootContent[]): Definitions {
  // The first definition of a name counts.
  const added = nodes
    .filter((node) => node.type === "definition")
    .filter(({ identifier }) => !known.has(identifier));
  return added.length === 0
    ? known
    : new Map([...added.toReversed().map((node) => [node.identifier, node] as const), ...known]);
}

function offsetOf(node: RootContent | undefined, otherwise: number): number {
  // A block's position begins at its first mark; the indentation belongs to the block.
  return node?.position?.start.offset === undefined
    ? otherwise
    : node.position.start.offset - (node.position.start.column - 1);
}

/** Returns the number of leading blocks that no further text can change. */
function countSettled(root: Root, source: string): number {
  for (let count = root.children.length - 1; count > 0; count -= 1) {
    if (isSettled(root.children[count - 1], root.children[count], source)) return count;
  }
  return 0;
}

function isSettled(block: RootContent | undefined, next: RootContent | undefined, source: string): boolean {
  if (!block || !next) return false;
  const start = offsetOf(next, source.length);
  const lineEnd = source.indexOf("\n", start);
  const line = source.slice(start, lineEnd < 0 ? source.length : lineEnd);
  const blankBefore = /\n[ \t]*\n[ \t]*$/u.test(
    source.slice(Math.max(0, (block.position?.end.offset ?? start) - 1), start),
  );
  // A line that a math block may absorb starts no block.
  if (!blankBefore && MATH_LINE.test(source.slice(source.lastIndexOf("\n\n", start) + 1, start)))
    return false;
  // An incomplete first line may become part of the previous block: "2" the next list item, "#" a continued paragraph.
  if (lineEnd >= 0) return blankBefore || block.type !== "definition";
  return blankBefore && (block.type !== "list" || !/^\s*[-+*\d]/u.test(line));
}
