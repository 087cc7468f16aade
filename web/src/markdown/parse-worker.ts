import { parseMarkdown } from "./parse";
import type { ParseRequest, ParseResponse } from "./parse-protocol";

/** Parses texts that would hold up the page. A text that takes too long costs nobody but this worker, which is ended. */
addEventListener("message", ({ data: { id, text } }: MessageEvent<ParseRequest>) => {
  const response: ParseResponse = { id, root: parseMarkdown(text) };
  postMessage(response);
});
