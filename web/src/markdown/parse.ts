import type { Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";
import { boundTree } from "./bound-tree";
import { math, mathFromMarkdown } from "./math";
import { plainText } from "./text-nodes";

// A single tilde means "about" far more often than strikethrough.
const extensions = [gfm({ singleTilde: false }), math];
const mdastExtensions = [gfmFromMarkdown(), mathFromMarkdown];

/**
 * Parses CommonMark with GitHub's extensions and formulas into a tree of bounded depth and width. Can be slow: check
 * `isCheapToParse` first on the main thread.
 */
export function parseMarkdown(text: string): Root {
  try {
    return boundTree(fromMarkdown(text, { extensions, mdastExtensions }), text);
  } catch (error) {
    // Parts of the parser recurse as deep as the text nests.
    if (error instanceof RangeError) return { type: "root", children: [plainText(text)] };
    throw error;
  }
}
