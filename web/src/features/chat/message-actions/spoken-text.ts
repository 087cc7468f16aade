import type { Nodes } from "mdast";
import { parseMarkdown } from "@/markdown/parse";

/** Longer passages are split, because some voices stop after a quarter of a minute. */
const MAX_PASSAGE_CHARS = 220;

/** Returns what is read aloud of a Markdown text, in passages: its words without code blocks, formulas and signs. */
export function spokenPassages(markdown: string): readonly string[] {
  return blocksOf(parseMarkdown(markdown)).flatMap((block) => splitPassage(block));
}

function blocksOf(node: Nodes): string[] {
  switch (node.type) {
    case "paragraph":
    case "heading": {
      return nonEmpty(wordsOf(node));
    }
    case "tableRow": {
      return nonEmpty(node.children.map((cell) => wordsOf(cell)).join(", "));
    }
    case "code":
    case "html":
    case "definition":
    case "footnoteDefinition": {
      return [];
    }
    default: {
      return "children" in node ? node.children.flatMap((child) => blocksOf(child)) : nonEmpty(wordsOf(node));
    }
  }
}

function wordsOf(node: Nodes): string {
  if (node.type === "text" || node.type === "inlineCode" || node.type === "plainText") return node.value;
  if (node.type === "break") return " ";
  if (node.type === "image") return node.alt ?? "";
  return "children" in node ? node.children.map((child) => wordsOf(child)).join("") : "";
}

function nonEmpty(text: string): string[] {
  const words = text.replaceAll(/\s+/gu, " ").trim();
  return /[\p{L}\p{N}]/u.test(words) ? [words] : [];
}

function splitPassage(text: string): string[] {
  const passages: string[] = [];
  for (const sentence of text.match(/.+?(?:[.!?…:;](?=\s)|$)\s*/gu) ?? []) {
    const last = passages.at(-1);
    if (last !== undefined && last.length + sentence.length <= MAX_PASSAGE_CHARS)
      passages[passages.length - 1] = last + sentence;
    else passages.push(sentence);
  }
  return passages.map((passage) => passage.trim());
}
