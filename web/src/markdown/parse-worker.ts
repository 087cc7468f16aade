import { parseMarkdown } from "./parse";
import type { ParseRequest, ParseResponse } from "./slow-parse";

/** Worker that parses slow texts. A text that takes too long only blocks this worker, which is terminated. */
addEventListener("message", ({ data: { id, text } }: MessageEvent<ParseRequest>) => {
  const response: ParseResponse = { id, root: parseMarkdown(text) };
  postMessage(response);
});
