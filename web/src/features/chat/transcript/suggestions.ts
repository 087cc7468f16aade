import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/t";

/** Something to begin with: what it says and what it puts into the composer. */
export interface Suggestion {
  readonly label: string;
  readonly prompt: string;
  readonly tool: string;
  readonly serverName: string;
}

const MOST = 4;
const LONGEST = 70;

/** What the tools that come with the product are good for; the others say it of themselves. */
const OWN = {
  current_time: { label: t("chat.suggest.time"), prompt: t("chat.suggest.time.prompt") },
  calculate: { label: t("chat.suggest.sum"), prompt: t("chat.suggest.sum.prompt") },
  convert_units: { label: t("chat.suggest.units"), prompt: t("chat.suggest.units.prompt") },
  google_drive_list_files: { label: t("chat.suggest.drive"), prompt: t("chat.suggest.drive.prompt") },
} as const;

/** Up to four suggestions from the tools at hand, of as many servers as there are. */
export function suggestionsFor(tools: readonly AvailableTool[]): readonly Suggestion[] {
  const queues = [...Map.groupBy(tools, ({ serverName }) => serverName).values()].map((list) =>
    list.toSorted(byUse),
  );
  const chosen: AvailableTool[] = [];
  for (let round = 0; chosen.length < MOST && queues.some((queue) => queue.length > round); round += 1) {
    chosen.push(...queues.flatMap((queue) => queue.slice(round, round + 1)));
  }
  return chosen.slice(0, MOST).map(toSuggestion);
}

/** Tools with a ready question first, then those that only read. */
function byUse(a: AvailableTool, b: AvailableTool): number {
  return rank(b) - rank(a);
}

function rank(tool: AvailableTool): number {
  return (tool.name in OWN ? 2 : 0) + (tool.annotations?.readOnlyHint === true ? 1 : 0);
}

function toSuggestion(tool: AvailableTool): Suggestion {
  const { name, serverName } = tool;
  const own = name in OWN ? OWN[name as keyof typeof OWN] : undefined;
  if (own) return { ...own, tool: name, serverName };
  return {
    label: firstSentence(tool.description) || name,
    prompt: t("tools.prefill", { tool: name }),
    tool: name,
    serverName,
  };
}

function firstSentence(description: string): string {
  const sentence = /^.*?(?:[.!?](?=\s|$)|\n|$)/u.exec(description.trim())?.[0].trim() ?? "";
  return sentence.length > LONGEST ? `${sentence.slice(0, LONGEST - 1).trimEnd()}…` : sentence;
}
