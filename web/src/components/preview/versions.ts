import { previewKind } from "./preview-kind";
import type { PreviewedChat, PreviewKind } from "@/lib/open-preview";

/** Text of a code block, or of a tool's result, that has a preview. */
export interface Previewable {
  readonly kind: PreviewKind;
  readonly text: string;
  /** Name of its file. */
  readonly name?: string | undefined;
}

/** Versions of a text in the order of the chat, and which of them was opened. */
export interface Versions {
  readonly all: readonly Previewable[];
  readonly opened: number;
}

/** Closed code block: indentation, fence, language, the rest of the opening line, and the code. */
const BLOCK = /^( {0,3})(`{3,}|~{3,})[ \t]*([^\s`]+)([^\n`]*)\n(|[^]*?\n) {0,3}\2[`~]*[ \t]*$/gmu;
/** Name of a file in the opening line of a code block, alone or as the value of a word like `title`. */
const FILE_NAME = /(?:^|[\s="'])([\w-][\w.-]{0,80}\.[a-z]{2,8})(?=$|[\s"'])/iu;
const EXTENSIONS = { html: "html", svg: "svg", markdown: "md", csv: "csv", json: "json" } as const;

/** Returns the code blocks of a text that have a preview. */
export function previewableBlocks(text: string): Previewable[] {
  return [...text.matchAll(BLOCK)].flatMap(([, indent = "", , language = "", meta = "", code = ""]) => {
    const kind = previewKind(language);
    if (!kind) return [];
    const lines = code.replace(/\n$/u, "").split("\n");
    const unindented = lines.map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
    return [{ kind, text: unindented.join("\n"), name: FILE_NAME.exec(meta)?.[1] }];
  });
}

/** Blocks of messages, which are replaced by other messages when they change. */
const blocksByMessage = new WeakMap<object, readonly Previewable[]>();

/** Returns the code blocks in the answers of a chat that have a preview. */
export function blocksOfChat(chat: PreviewedChat): Previewable[] {
  return chat.status().ids.flatMap((id) => {
    const message = chat.message(id);
    if (message?.role !== "assistant") return [];
    const known = blocksByMessage.get(message);
    if (known) return known;
    const texts = message.parts.filter(({ type }) => type === "text");
    const blocks = texts.flatMap(({ text = "" }) => previewableBlocks(text));
    blocksByMessage.set(message, blocks);
    return blocks;
  });
}

/**
 * Returns the versions of an opened text: the blocks with the same name or, without one, of the same kind with the same
 * title.
 */
export function versionsOf(blocks: readonly Previewable[], opened: Previewable): Versions {
  const isOpened = ({ kind, text }: Previewable) => kind === opened.kind && text === opened.text;
  const known = blocks.findLast(isOpened) ?? opened;
  const key = keyOf(known);
  const same = blocks.filter((block) => keyOf(block) === key);
  const at = same.findLastIndex(isOpened);
  return at < 0 ? { all: [...same, opened], opened: same.length } : { all: same, opened: at };
}

/** Returns the name of a text's file, from its title if it has no other. */
export function fileNameOf({ kind, text, name }: Previewable): string {
  if (name !== undefined) return name;
  const title = /^[{[<]/u.test(titleOf(kind, text)) ? "" : titleOf(kind, text);
  const plain = title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, "-")
    .replaceAll(/^-+|-+$/gu, "")
    .slice(0, 40);
  return `${kind === "csv" || kind === "json" || plain === "" ? "preview" : plain}.${EXTENSIONS[kind]}`;
}

const keys = new WeakMap<Previewable, string>();

/** Returns what the versions of a text have in common. */
function keyOf(block: Previewable): string {
  const { kind, text, name } = block;
  const key = keys.get(block) ?? (name === undefined ? `${kind} ${titleOf(kind, text)}` : `name ${name}`);
  keys.set(block, key);
  return key;
}

/** Returns the title in a text, or its first line with words. */
function titleOf(kind: PreviewKind, text: string): string {
  const title =
    kind === "html" || kind === "svg"
      ? /<title[^>]*>([^<]+)</iu.exec(text)?.[1]
      : kind === "markdown"
        ? /^#{1,6} +(.+)$/mu.exec(text)?.[1]
        : undefined;
  return (title ?? text.split("\n").find((line) => /[\p{L}\p{N}]/u.test(line)) ?? "").trim();
}
