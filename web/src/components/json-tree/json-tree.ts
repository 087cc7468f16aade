import { isObject } from "@/lib/json";

/** Number of children below a node. More are grouped into ranges of this many, or of a power of it. */
export const PAGE_SIZE = 100;
/** Rows that are shown at first, unless the first page of the root has more. */
const MAX_INITIAL_ROWS = 60;
/** Levels that are open at first. */
const MAX_INITIAL_DEPTH = 3;

/** Row of a JSON tree: a value, or a range of the entries of a long array or object. */
export interface JsonNode {
  /** Unique within the tree. */
  readonly id: number;
  readonly parent: JsonNode | undefined;
  /** 0 for the root. */
  readonly depth: number;
  /** Index among its siblings. */
  readonly position: number;
  readonly siblings: number;
  /** Key in an object or index in an array; undefined for the root and for ranges. */
  readonly key: string | number | undefined;
  /** The value; that of the parent for a range. */
  readonly value: unknown;
  /** First entry of a range, and the one after its last. */
  readonly range: { readonly from: number; readonly to: number } | undefined;
}

/** Nodes of a JSON value, created when they are first needed, so that a large value costs only what is shown of it. */
export class JsonTree {
  readonly root: JsonNode;
  readonly #children = new Map<JsonNode, readonly JsonNode[]>();
  readonly #keys = new WeakMap<object, readonly string[]>();
  #lastId = 0;

  constructor(value: unknown) {
    this.root = {
      id: 0,
      parent: undefined,
      depth: 0,
      position: 0,
      siblings: 1,
      key: undefined,
      value,
      range: undefined,
    };
  }

  /** Returns the number of entries of a value; 0 for all but arrays and objects. */
  sizeOf(value: unknown): number {
    return Array.isArray(value) ? value.length : this.#keysOf(value).length;
  }

  /** Returns true if a node has children. */
  isBranch({ value, range }: JsonNode): boolean {
    return range !== undefined || this.sizeOf(value) > 0;
  }

  /** Returns the children of a node, {@link PAGE_SIZE} at most. */
  childrenOf(node: JsonNode): readonly JsonNode[] {
    const known = this.#children.get(node);
    if (known) return known;
    const children = this.#makeChildren(node);
    this.#children.set(node, children);
    return children;
  }

  /** Returns the keys and values of the entries of an array, an object or a range. */
  entriesOf({ value, range }: JsonNode): [string | number, unknown][] {
    const { from, to } = range ?? { from: 0, to: this.sizeOf(value) };
    return Array.from({ length: to - from }, (_, offset) => {
      const key = Array.isArray(value) ? from + offset : (this.#keysOf(value)[from + offset] ?? "");
      return [key, (value as Record<string | number, unknown>)[key]];
    });
  }

  /** Returns the node at the end of a path of keys, or undefined if there is none. */
  find(path: readonly (string | number)[]): JsonNode | undefined {
    let node: JsonNode | undefined = this.root;
    for (const key of path) {
      const index: number = typeof key === "number" ? key : this.#keysOf(node?.value).indexOf(key);
      do {
        node = node && this.childrenOf(node).find((child) => holds(child, key, index));
      } while (node?.range);
    }
    return node;
  }

  /** Returns the rows that are visible while these nodes are open, in order. */
  visibleNodes(open: ReadonlySet<JsonNode>): JsonNode[] {
    const visible: JsonNode[] = [];
    const rest = [this.root];
    for (let node = rest.pop(); node; node = rest.pop()) {
      visible.push(node);
      if (open.has(node)) rest.push(...this.childrenOf(node).toReversed());
    }
    return visible;
  }

  /** Returns the nodes that are open at first: the upper levels, as far as they are few rows. */
  initiallyOpen(): Set<JsonNode> {
    const open = new Set<JsonNode>();
    const queue = [this.root];
    let rows = 1;
    for (const node of queue) {
      const children = this.childrenOf(node);
      const isFirstPage = node.value === this.root.value && (node.range?.from ?? 0) === 0;
      const isSmall =
        !node.range && node.depth < MAX_INITIAL_DEPTH && rows + children.length <= MAX_INITIAL_ROWS;
      if (children.length === 0 || !(isFirstPage || isSmall)) continue;
      open.add(node);
      rows += children.length;
      queue.push(...children);
    }
    return open;
  }

  #makeChildren(node: JsonNode): JsonNode[] {
    const { value } = node;
    const { from, to } = node.range ?? { from: 0, to: this.sizeOf(value) };
    const depth = node.depth + 1;
    const count = to - from;
    const make = (part: Pick<JsonNode, "position" | "siblings" | "key" | "value" | "range">): JsonNode => ({
      id: (this.#lastId += 1),
      parent: node,
      depth,
      ...part,
    });
    if (count <= PAGE_SIZE) {
      return this.entriesOf(node).map(([key, child], position) =>
        make({ position, siblings: count, key, value: child, range: undefined }),
      );
    }
    let step = PAGE_SIZE;
    while (step * PAGE_SIZE < count) step *= PAGE_SIZE;
    const siblings = Math.ceil(count / step);
    return Array.from({ length: siblings }, (_, position) => {
      const start = from + position * step;
      const range = { from: start, to: Math.min(start + step, to) };
      return make({ position, siblings, key: undefined, value, range });
    });
  }

  #keysOf(value: unknown): readonly string[] {
    if (!isObject(value)) return [];
    const known = this.#keys.get(value) ?? Object.keys(value);
    this.#keys.set(value, known);
    return known;
  }
}

function holds({ key, range }: JsonNode, wanted: string | number, index: number): boolean {
  return range ? range.from <= index && index < range.to : key === wanted;
}

/** Returns the nodes around a node, the nearest first. */
export function ancestorsOf(node: JsonNode): JsonNode[] {
  const ancestors: JsonNode[] = [];
  for (let above = node.parent; above; above = above.parent) ancestors.push(above);
  return ancestors;
}

/** Returns the path to a node as JSONPath writes it, such as `$.users[3]["first name"]`; a range has that of its array. */
export function pathTo(node: JsonNode): string {
  const steps = [node, ...ancestorsOf(node)].toReversed().map(({ key }) => {
    if (key === undefined) return "";
    if (typeof key === "number") return `[${key}]`;
    return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  });
  return `$${steps.join("")}`;
}

/** Entry that a search found, with the entries around it. */
export interface JsonMatch {
  readonly parent: JsonMatch | undefined;
  readonly key: string | number;
}

/** Returns a pattern for the words of a search, regardless of case. */
export function searchPattern(words: string): RegExp {
  return new RegExp(words.replaceAll(/[\\^$.*+?()[\]{}|/]/gu, String.raw`\$&`), "iu");
}

/** JSON value without entries. */
type Primitive = string | number | bigint | boolean | null;

const primitiveText = (value: Primitive): string => String(value);

/** Returns the entries whose key or value (of a primitive) matches, in the order of the tree. */
export function findMatches(root: unknown, pattern: RegExp): JsonMatch[] {
  const matches: JsonMatch[] = [];
  const rest: { value: unknown; match: JsonMatch | undefined }[] = [{ value: root, match: undefined }];
  for (let entry = rest.pop(); entry; entry = rest.pop()) {
    const { value, match } = entry;
    const isContainer = typeof value === "object" && value !== null;
    if (match) {
      const isFound =
        (typeof match.key === "string" && pattern.test(match.key)) ||
        (!isContainer && pattern.test(primitiveText(value as Primitive)));
      if (isFound) matches.push(match);
    }
    if (!isContainer) continue;
    const children = Array.isArray(value)
      ? value.map((child: unknown, key) => ({ value: child, match: { parent: match, key } }))
      : Object.entries(value).map(([key, child]) => ({
          value: child as unknown,
          match: { parent: match, key },
        }));
    // Not by `push(...)`: an array may have more entries than a call has arguments.
    for (const child of children.toReversed()) rest.push(child);
  }
  return matches;
}

/** Returns the keys from the root to a match. */
export function keysOf(match: JsonMatch): (string | number)[] {
  const keys: (string | number)[] = [];
  for (let at: JsonMatch | undefined = match; at; at = at.parent) keys.push(at.key);
  return keys.toReversed();
}

/** Returns true if a value has at least this many entries on all levels. */
export function hasEntries(root: unknown, least: number): boolean {
  const rest = [root];
  let count = 0;
  for (const value of rest) {
    if (typeof value !== "object" || value === null) continue;
    for (const child of Object.values(value)) {
      count += 1;
      if (count >= least) return true;
      rest.push(child);
    }
  }
  return false;
}
