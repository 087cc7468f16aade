import type { AwaitedInteraction } from "@/lib/events";
import { t } from "@/lib/later-texts";

/** Mark in front of the page's title. */
interface TitleMark {
  count: number;
  label: string;
}

/** What is waiting, shown also while the user looks, and what has happened since they looked away. */
const marks: Record<"waiting" | "news", TitleMark> = {
  waiting: { count: 0, label: "" },
  news: { count: 0, label: "" },
};
/** What the title begins with at present. */
let prefix = "";

/** Sets a mark of the page's title: a number and the latest thing that it counts. The number 0 removes it. */
export function markTitle(source: keyof typeof marks, count: number, label: string): void {
  marks[source] = { count, label };
  const total = marks.waiting.count + marks.news.count;
  const shown = marks.waiting.count > 0 ? marks.waiting.label : marks.news.label;
  const title = document.title.startsWith(prefix) ? document.title.slice(prefix.length) : document.title;
  prefix = total > 0 ? `(${total}) ${shown === "" ? "" : `${shown} · `}` : "";
  document.title = `${prefix}${title}`;
}

/** Returns what a chat waits for: the tool that asks, if it is known, and the chat. */
export function waitingChatLabel(title: string, awaited: AwaitedInteraction | undefined): string {
  return awaited === undefined
    ? t("attention.chat.waits", { title })
    : t(`attention.chat.${awaited.kind}`, { tool: awaited.tool, title });
}
