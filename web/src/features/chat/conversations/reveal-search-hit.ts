import "./search-highlight.css";
import { type MessageHit, switchBranch } from "../queries";
import type { ChatStore } from "../stream/chat-store";
import type { ScrollTarget } from "../transcript/scroll-controller";

/** Name of the highlight that the browser paints. */
const HIGHLIGHT_NAME = "found";
/** Time in which loading content may still redraw the row. */
const HIGHLIGHT_REFRESH_MS = 3_000;
/** Number of messages per request on the way back to a hit; one request per page would be slow. */
const MESSAGES_PER_REQUEST = 500;

/** Loads a chat back to the message of a search hit, and returns it as a scroll target. */
export async function revealSearchHit(store: ChatStore, hit: MessageHit): Promise<ScrollTarget> {
  // The message may be on another branch, which cannot be activated while an answer is being written.
  if (await switchBranch(hit.sessionId, hit.messageId).catch(() => false)) await store.reopen();
  await store.open();
  for (;;) {
    const { ids, hasOlder } = store.status();
    if (ids.includes(hit.messageId) || !hasOlder) break;
    await store.loadOlder(MESSAGES_PER_REQUEST);
    if (store.status().ids === ids) break;
  }
  const words = hit.excerpt.marks.map(([from, to]) => hit.excerpt.text.slice(from, to));
  return { message: hit.messageId, onShown: (row) => highlight(row, [...new Set(words)]) };
}

/** Focuses a message and highlights the words in it. */
function highlight(row: HTMLElement, words: readonly string[]): void {
  row.tabIndex = -1;
  row.dataset["found"] = "";
  row.focus({ preventScroll: true });
  row.addEventListener("blur", () => delete row.dataset["found"], { once: true });
  // Older browsers show the message without highlights.
  if (!("highlights" in CSS)) return;
  const update = () => CSS.highlights.set(HIGHLIGHT_NAME, new Highlight(...rangesOf(row, words)));
  update();
  const observer = new MutationObserver(update);
  observer.observe(row, { childList: true, subtree: true, characterData: true });
  setTimeout(() => observer.disconnect(), HIGHLIGHT_REFRESH_MS);
}

function rangesOf(row: HTMLElement, words: readonly string[]): Range[] {
  const ranges: Range[] = [];
  const texts = document.createTreeWalker(row, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const text = node.nodeValue ?? "";
    for (const word of words) {
      for (let at = text.indexOf(word); at >= 0; at = text.indexOf(word, at + word.length)) {
        const range = document.createRange();
        range.setStart(node, at);
        range.setEnd(node, at + word.length);
        ranges.push(range);
      }
    }
  }
  return ranges;
}
