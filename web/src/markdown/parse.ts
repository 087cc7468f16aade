import type { Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { gfm } from "micromark-extension-gfm";

// A single tilde means "about" far more often than it strikes something out.
const extensions = [gfm({ singleTilde: false })];
const mdastExtensions = [gfmFromMarkdown()];

/** The syntax tree of a text in CommonMark with GitHub's extensions. */
export function parseMarkdown(text: string): Root {
  return fromMarkdown(text, { extensions, mdastExtensions });
}
