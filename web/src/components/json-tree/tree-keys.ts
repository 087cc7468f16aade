import { ancestorsOf, type JsonNode, type JsonTree } from "./json-tree";

/** Result of a key in the tree: another row, or a node to open or close. */
export type KeyAction = { focus: JsonNode } | { toggle: JsonNode };

interface TreeView {
  tree: JsonTree;
  open: ReadonlySet<JsonNode>;
  /** The visible rows, in order. */
  rows: readonly JsonNode[];
}

/** Returns what a key does on a row, as the tree pattern of ARIA has it; undefined if nothing. */
export function keyAction(
  key: string,
  node: JsonNode,
  { tree, open, rows }: TreeView,
): KeyAction | undefined {
  const at = rows.indexOf(node);
  const to = (row: JsonNode | undefined) => row && { focus: row };
  const isBranch = tree.isBranch(node);
  switch (key) {
    case "ArrowDown":
      return to(rows[at + 1]);
    case "ArrowUp":
      return to(rows[at - 1]);
    case "Home":
      return to(rows[0]);
    case "End":
      return to(rows.at(-1));
    case "ArrowRight":
      if (!isBranch) return undefined;
      return open.has(node) ? to(rows[at + 1]) : { toggle: node };
    case "ArrowLeft":
      return isBranch && open.has(node) ? { toggle: node } : to(ancestorsOf(node)[0]);
    case "Enter":
    case " ":
      return { toggle: node };
    default:
      return key.length === 1 ? to(nextWithName(key, at, rows)) : undefined;
  }
}

/** Returns the next row whose key begins with a letter, from the start again after the last. */
function nextWithName(letter: string, at: number, rows: readonly JsonNode[]): JsonNode | undefined {
  const following = [...rows.slice(at + 1), ...rows.slice(0, at)];
  return following.find(({ key }) =>
    String(key ?? "")
      .toLowerCase()
      .startsWith(letter.toLowerCase()),
  );
}
