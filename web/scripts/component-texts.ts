import { type ESTree, parseSync, Visitor } from "vite";

/** Attributes that are read or seen by users. */
const shownAttributes = new Set([
  "alt",
  "aria-label",
  "aria-description",
  "label",
  "placeholder",
  "title",
  "hint",
]);

/** A word of letters. */
const words = /\p{L}{2}/u;

/** Names of products and formats, which are the same in every language. */
const names = new Set(["AI Chat MCP"]);

/** Returns the texts that a component has in its JSX instead of in `messages/`. */
export function codeTexts(file: string, code: string): string[] {
  if (!file.endsWith(".tsx")) return [];
  const findings: string[] = [];
  const report = (start: number, text: string) => {
    if (!words.test(text) || names.has(text.trim()) || text.includes("://")) return;
    const line = code.slice(0, start).split("\n").length;
    findings.push(`${file}:${line}: “${text.trim()}” belongs to messages/en.json`);
  };
  new Visitor({
    JSXText: (node) => report(node.start, node.value),
    JSXExpressionContainer: (node) => {
      for (const text of literalsOf(node.expression)) {
        if (isShown(node, code)) report(node.start, text);
      }
    },
    JSXAttribute: (node) => {
      const name = node.name.type === "JSXIdentifier" ? node.name.name : "";
      if (!shownAttributes.has(name) || !node.value) return;
      if (node.value.type === "Literal") report(node.start, node.value.value);
      else if (node.value.type === "JSXExpressionContainer")
        for (const text of literalsOf(node.value.expression)) report(node.start, text);
    },
  }).visit(parseSync(file, code).program);
  return findings;
}

/** Returns true if an expression is a child of an element and not the value of an attribute. */
function isShown(node: ESTree.JSXExpressionContainer, code: string): boolean {
  return code[node.start - 1] !== "=";
}

/** Returns the texts that an expression can evaluate to. */
function literalsOf(node: ESTree.JSXExpression | ESTree.Expression): string[] {
  switch (node.type) {
    case "Literal":
      return typeof node.value === "string" ? [node.value] : [];
    case "TemplateLiteral":
      return node.quasis.map((quasi) => quasi.value.cooked ?? "");
    case "ConditionalExpression":
      return [...literalsOf(node.consequent), ...literalsOf(node.alternate)];
    case "LogicalExpression":
      return literalsOf(node.right);
    default:
      return [];
  }
}

/** Returns the keys that no source names, neither as a string nor by the beginning of a template. */
export function unusedKeys(keys: readonly string[], sources: readonly string[]): string[] {
  const named = new Set<string>();
  const beginnings = new Set<string>();
  for (const code of sources) {
    for (const [, key = ""] of code.matchAll(/["']([\w-]+(?:\.[\w-]+)+)["']/gu)) named.add(key);
    for (const [, start = ""] of code.matchAll(/`([a-zA-Z]+(?:\.[a-zA-Z]+)*\.)\$\{/gu)) beginnings.add(start);
  }
  return keys.filter((key) => {
    const start = key.slice(0, key.lastIndexOf(".") + 1);
    return !named.has(key) && !beginnings.has(start);
  });
}
