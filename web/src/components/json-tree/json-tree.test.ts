import { expect, test } from "vitest";
import {
  ancestorsOf,
  findMatches,
  JsonTree,
  type JsonNode,
  keysOf,
  pathTo,
  searchPattern,
} from "./json-tree";
import { keyAction } from "./tree-keys";

const names = (nodes: readonly JsonNode[]) =>
  nodes.map(({ key, range }) => (range ? `${range.from}-${range.to}` : (key ?? "root")));
const paths = (value: unknown, words: string) =>
  findMatches(value, searchPattern(words)).map((match) => keysOf(match).join("."));

test("has a node for each entry, in the order of the value", () => {
  const tree = new JsonTree({ b: 1, a: [true, null], __proto__x: "z" });
  expect(names(tree.childrenOf(tree.root))).toEqual(["b", "a", "__proto__x"]);
  const [b, a] = tree.childrenOf(tree.root);
  expect(b && tree.isBranch(b)).toBe(false);
  expect(a && tree.childrenOf(a).map(({ value }) => value)).toEqual([true, null]);
  const [empty] = new JsonTree([{}]).childrenOf(new JsonTree([{}]).root);
  expect(empty && tree.isBranch(empty)).toBe(false);
});

test("groups long arrays and objects into pages, however long they are", () => {
  const tree = new JsonTree(Array.from({ length: 250 }, (_, index) => index));
  expect(names(tree.childrenOf(tree.root))).toEqual(["0-100", "100-200", "200-250"]);
  const huge = new JsonTree(Array.from({ length: 1_234_567 }, () => 0));
  let nodes: readonly JsonNode[] = [huge.root];
  while (nodes[0]?.range || nodes[0] === huge.root) {
    nodes = nodes[0] ? huge.childrenOf(nodes[0]) : [];
    expect(nodes.length).toBeLessThanOrEqual(124);
  }
  const object = new JsonTree(Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`k${n}`, n])));
  const [first] = object.childrenOf(object.root);
  expect(first && names(object.childrenOf(first)).slice(0, 2)).toEqual(["k0", "k1"]);
});

test("opens the upper levels first, as far as they are few rows", () => {
  const small = new JsonTree({ a: { b: { c: { d: 1 } } } });
  expect(names(small.visibleNodes(small.initiallyOpen()))).toEqual(["root", "a", "b", "c"]);
  const long = new JsonTree(Array.from({ length: 250 }, () => ({ x: 1, y: 2 })));
  const visible = long.visibleNodes(long.initiallyOpen());
  expect(visible).toHaveLength(104);
  expect(names(visible.slice(0, 3))).toEqual(["root", "0-100", 0]);
  const nested = new JsonTree({ list: Array.from({ length: 105 }, () => 0) });
  expect(names(nested.visibleNodes(nested.initiallyOpen()))).toEqual(["root", "list", "0-100", "100-105"]);
});

test("finds the node at the end of a path, also within pages", () => {
  const tree = new JsonTree({ list: Array.from({ length: 20_000 }, (_, n) => ({ "a b": n })) });
  const node = tree.find(["list", 12_345, "a b"]);
  expect(node?.value).toBe(12_345);
  expect(node && pathTo(node)).toBe('$.list[12345]["a b"]');
  expect(node && ancestorsOf(node)).toHaveLength(5);
  expect(tree.find(["list", 20_000])).toBe(undefined);
  expect(tree.find(["none"])).toBe(undefined);
});

test("finds keys and values regardless of case, in the order of the tree", () => {
  const value = { Name: "Ada", list: [{ name: "Bob" }, "a name", 42], flag: true, big: 9007199254740993n };
  expect(paths(value, "NAME")).toEqual(["Name", "list.0.name", "list.1"]);
  expect(paths(value, "42")).toEqual(["list.2"]);
  expect(paths(value, "true")).toEqual(["flag"]);
  expect(paths(value, "993")).toEqual(["big"]);
  expect(paths({ "a.b": "(x)", c: "ax" }, "(x)")).toEqual(["a.b"]);
  expect(paths(value, "none")).toEqual([]);
});

test("searches two megabytes in a moment, and values of any depth", () => {
  const rows = Array.from({ length: 20_000 }, (_, n) => ({ id: n, name: `name ${n}`, text: "x".repeat(60) }));
  expect(JSON.stringify(rows).length).toBeGreaterThan(2_000_000);
  const started = performance.now();
  expect(paths(rows, "name 19999")).toEqual(["19999.name"]);
  expect(performance.now() - started).toBeLessThan(2_000);
  let deep: unknown = "end";
  for (let depth = 0; depth < 50_000; depth += 1) deep = [deep];
  expect(findMatches(deep, searchPattern("end"))).toHaveLength(1);
});

test("keys do what the tree pattern asks for", () => {
  const tree = new JsonTree({ a: { b: 1 }, c: 2, apple: [] });
  const [a, c, apple] = tree.childrenOf(tree.root);
  if (!a || !c || !apple) throw new Error("no nodes");
  const closed = new Set([tree.root]);
  const view = (open: ReadonlySet<JsonNode>) => ({ tree, open, rows: tree.visibleNodes(open) });
  const all = new Set([tree.root, a]);
  const [b] = tree.childrenOf(a);
  expect(keyAction("ArrowDown", a, view(closed))).toEqual({ focus: c });
  expect(keyAction("ArrowUp", a, view(closed))).toEqual({ focus: tree.root });
  expect(keyAction("ArrowUp", tree.root, view(closed))).toBe(undefined);
  expect(keyAction("ArrowRight", a, view(closed))).toEqual({ toggle: a });
  expect(keyAction("ArrowRight", a, view(all))).toEqual({ focus: b });
  expect(keyAction("ArrowRight", c, view(all))).toBe(undefined);
  expect(keyAction("ArrowLeft", a, view(all))).toEqual({ toggle: a });
  expect(b && keyAction("ArrowLeft", b, view(all))).toEqual({ focus: a });
  expect(keyAction("Home", c, view(all))).toEqual({ focus: tree.root });
  expect(keyAction("End", tree.root, view(all))).toEqual({ focus: apple });
  expect(keyAction("Enter", a, view(closed))).toEqual({ toggle: a });
  expect(keyAction("A", a, view(closed))).toEqual({ focus: apple });
  expect(keyAction("a", apple, view(closed))).toEqual({ focus: a });
  expect(keyAction("z", apple, view(closed))).toBe(undefined);
  expect(keyAction("Tab", a, view(closed))).toBe(undefined);
});
