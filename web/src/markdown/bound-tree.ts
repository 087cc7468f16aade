import type { Nodes, PhrasingContent, Root, Table } from "mdast";
import { plainText } from "./text-nodes";

/** Nested quotes, lists and footnotes. Each takes some 20 px of a line, and a phone has 320. */
export const MAX_CONTAINER_DEPTH = 16;
/** Nested emphasis, links and the like. */
export const MAX_INLINE_DEPTH = 16;
/** Columns of a table. Layout compares the widths of all of them. */
export const MAX_TABLE_COLUMNS = 64;
/** Cells of a table. */
const MAX_TABLE_CELLS = 5_000;
/** Nodes of a text, each of which becomes at least one DOM element. */
export const MAX_NODES = 40_000;

/** Formulas of a text. Each becomes some dozens of DOM elements. */
export const MAX_FORMULAS = 500;

const CONTAINERS: ReadonlySet<string> = new Set(["blockquote", "listItem", "footnoteDefinition"]);
const SPANS: ReadonlySet<string> = new Set(["emphasis", "strong", "delete", "link", "linkReference"]);

/**
 * Replaces parts of a tree that are too deep or too wide by their source. React, the style engine and the layout engine
 * recurse into the DOM, and a stack overflow there crashes the tab.
 */
export function boundTree(root: Root, source: string): Root {
  const count = countNodes(root);
  if (count.nodes > MAX_NODES) return { type: "root", children: [plainText(source)] };
  boundChildren(root, source, { containers: 0, spans: 0, drawsFormulas: count.formulas <= MAX_FORMULAS });
  return root;
}

/** Counts without recursion, since the depth is not bounded yet. */
function countNodes(root: Root): { nodes: number; formulas: number } {
  const open: Nodes[] = [root];
  const count = { nodes: 0, formulas: 0 };
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    count.nodes += 1;
    if (node.type === "math") count.formulas += 1;
    if ("children" in node) for (const child of node.children) open.push(child);
  }
  return count;
}

/** Place of a node: the containers and spans around it, and whether its formulas are drawn. */
interface Place {
  readonly containers: number;
  readonly spans: number;
  readonly drawsFormulas: boolean;
}

function boundChildren(node: Nodes, source: string, { containers, spans, drawsFormulas }: Place): void {
  if (!("children" in node)) return;
  // The types of possible children do not matter here: plain text is allowed everywhere.
  const children = node.children as PhrasingContent[];
  for (const [index, child] of children.entries()) {
    const inContainers = containers + (CONTAINERS.has(child.type) ? 1 : 0);
    const inSpans = spans + (SPANS.has(child.type) ? 1 : 0);
    // A list as a whole, because it may contain nothing but items.
    const deepest = inContainers + ((child as Nodes).type === "list" ? 1 : 0);
    const isTooDeep = deepest > MAX_CONTAINER_DEPTH || inSpans > MAX_INLINE_DEPTH;
    if (isTooDeep || isTooWide(child)) children[index] = plainText(sourceOf(child, source));
    else if (child.type === "math" && !drawsFormulas) children[index] = plainText(child.value);
    else boundChildren(child, source, { containers: inContainers, spans: inSpans, drawsFormulas });
  }
}

function isTooWide(node: Nodes): boolean {
  if (node.type !== "table") return false;
  const columns = columnsOf(node);
  return columns > MAX_TABLE_COLUMNS || columns * node.children.length > MAX_TABLE_CELLS;
}

function columnsOf({ children }: Table): number {
  return children.reduce((most, row) => Math.max(most, row.children.length), 0);
}

function sourceOf({ position }: Nodes, source: string): string {
  return source.slice(position?.start.offset ?? 0, position?.end.offset ?? source.length);
}
