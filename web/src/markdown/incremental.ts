import type { Definition, Root, RootContent } from "mdast";
import { parseMarkdown } from "./parse";
import { repairTail } from "./repair-tail";

/** A top-level block, with a key that stays its own while the text grows. */
export interface Block {
  readonly key: number;
  readonly node: RootContent;
}

/** Where the named links of a text lead. */
export type Definitions = ReadonlyMap<string, Definition>;

/** A text that grows, and what is known of its blocks. */
export interface MarkdownState {
  readonly text: string;
  readonly complete: boolean;
  /** Blocks that no further text can change. */
  readonly finished: readonly Block[];
  /** Where in the text the first block starts that can still change. */
  readonly tailStart: number;
  /** The blocks after those, with unfinished markup made whole for the eye. */
  readonly tail: readonly Block[];
  /** Where in the text the code begins, when the tail is nothing but code that is still open; otherwise 0. */
  readonly codeStart: number;
  /** The link definitions so far, by identifier. */
  readonly definitions: Definitions;
  /** Whether a block defines a link or a footnote, which blocks before it may name. */
  readonly reachesBack: boolean;
  /** Characters given to the parser so far. */
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
  lexed: 0,
};

/** The line that opens a code block. */
const FENCE = /^(?:`{3}|~{3})[^\n]*\n/u;
/** A line that may close one, and characters that the parser changes. */
const DECISIVE = /^ {0,3}(?:`+|~+)[ \t]*$|[\0\r]/mu;

const reachesBack = (node: RootContent): boolean =>
  node.type === "definition" || node.type === "footnoteDefinition";

/**
 * The blocks of `text`. When it continues the text before, only what follows the finished blocks is parsed. A complete
 * text is parsed as a whole if it has definitions, since those reach backwards.
 */
export function advance(before: MarkdownState, text: string, complete: boolean): MarkdownState {
  if (before.text === text && before.complete === complete) return before;
  // What was complete was not parsed to be continued.
  const continues = !before.complete && text.startsWith(before.text);
  const start = continues ? before : EMPTY_MARKDOWN;
  const source = text.slice(start.tailStart);
  if (complete) return finish(start, text, source);
  const [block] = start.tail;
  // Code can be long, and until it ends each line is only one more.
  if (start.codeStart > 0 && block && !DECISIVE.test(text.slice(start.text.lastIndexOf("\n") + 1))) {
    const node = { ...block.node, value: text.slice(start.codeStart).replace(/\n$/u, "") };
    const lexed = start.lexed + text.length - start.text.length;
    return { ...start, text, tail: [{ ...block, node }], lexed };
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
  // What needs no repair has just been parsed.
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
    lexed: start.lexed + source.length + (repaired === rest ? 0 : repaired.length),
  };
}

function finish(start: MarkdownState, text: string, source: string): MarkdownState {
  const tail = parseMarkdown(source).children;
  const hasDefinitions = start.reachesBack || tail.some(reachesBack);
  const whole = hasDefinitions && start.finished.length > 0 ? parseMarkdown(text).children : null;
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
    lexed: start.lexed + source.length + (whole ? text.length : 0),
  };
}

/** The same map when nothing is added, so that finished blocks need not be drawn again. */
function withDefinitions(known: Definitions, nodes: readonly RootContent[]): Definitions {
  // Where two blocks define the same name, the first counts.
  const added = nodes
    .filter((node) => node.type === "definition")
    .filter(({ identifier }) => !known.has(identifier));
  return added.length === 0
    ? known
    : new Map([...added.toReversed().map((node) => [node.identifier, node] as const), ...known]);
}

function offsetOf(node: RootContent | undefined, otherwise: number): number {
  // A block's position begins at its first mark; the indentation before it belongs to the block.
  return node?.position?.start.offset === undefined
    ? otherwise
    : node.position.start.offset - (node.position.start.column - 1);
}

/** How many of the leading blocks can no longer change, whatever follows. */
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
  // A first line that is still being written may turn into something that the block before takes in: "2" into the next
  // item of a list, "#" into a continued paragraph.
  if (lineEnd >= 0) return blankBefore || block.type !== "definition";
  return blankBefore && (block.type !== "list" || !/^\s*[-+*\d]/u.test(line));
}
