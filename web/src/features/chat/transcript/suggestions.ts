import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/later-texts";

/** Suggestion on the empty chat: its label, and the text for the message field. */
interface Suggestion {
  readonly label: string;
  readonly prompt: string;
  readonly tool: string;
  readonly serverName: string;
}

const MAX_SUGGESTIONS = 4;

/** Elicitations for the built-in tools, the best first. */
const BUILT_IN_SUGGESTIONS = {
  current_time: { label: t("chat.suggest.time"), prompt: t("chat.suggest.time.prompt") },
  calculate: { label: t("chat.suggest.sum"), prompt: t("chat.suggest.sum.prompt") },
  convert_units: { label: t("chat.suggest.units"), prompt: t("chat.suggest.units.prompt") },
  days_between: { label: t("chat.suggest.days"), prompt: t("chat.suggest.days.prompt") },
  text_statistics: { label: t("chat.suggest.words"), prompt: t("chat.suggest.words.prompt") },
  google_drive_list_files: { label: t("chat.suggest.drive"), prompt: t("chat.suggest.drive.prompt") },
  google_drive_create_file: { label: t("chat.suggest.note"), prompt: t("chat.suggest.note.prompt") },
  google_drive_read_file: { label: t("chat.suggest.read"), prompt: t("chat.suggest.read.prompt") },
} as const;
const builtInNames = Object.keys(BUILT_IN_SUGGESTIONS);

/** Returns the suggestions that need no tool. */
export function plainSuggestions(): readonly Pick<Suggestion, "label" | "prompt">[] {
  return [
    { label: t("chat.suggest.mcp"), prompt: t("chat.suggest.mcp.prompt") },
    { label: t("chat.suggest.reminder"), prompt: t("chat.suggest.reminder.prompt") },
  ];
}

/** Returns up to four suggestions for the available tools, from as many servers as possible. */
export function suggestionsFor(tools: readonly AvailableTool[]): readonly Suggestion[] {
  const queues = [...Map.groupBy(tools, ({ serverName }) => serverName).values()].map((list) =>
    list.toSorted(byUse),
  );
  const chosen: AvailableTool[] = [];
  for (
    let round = 0;
    chosen.length < MAX_SUGGESTIONS && queues.some((queue) => queue.length > round);
    round += 1
  ) {
    chosen.push(...queues.flatMap((queue) => queue.slice(round, round + 1)));
  }
  return chosen.slice(0, MAX_SUGGESTIONS).map(toSuggestion);
}

/** Orders tools with a prepared question first, then read-only ones. */
function byUse(a: AvailableTool, b: AvailableTool): number {
  return rank(a) - rank(b);
}

function rank({ name, annotations }: AvailableTool): number {
  const builtIn = builtInNames.indexOf(name);
  if (builtIn !== -1) return builtIn;
  return builtInNames.length + (annotations?.readOnlyHint === true ? 0 : 1);
}

function toSuggestion({ name, title, serverName }: AvailableTool): Suggestion {
  const builtIn = Object.hasOwn(BUILT_IN_SUGGESTIONS, name)
    ? BUILT_IN_SUGGESTIONS[name as keyof typeof BUILT_IN_SUGGESTIONS]
    : undefined;
  // For other tools only the beginning of a sentence can be suggested.
  const words = builtIn ?? { label: title ?? name, prompt: t("chat.prefill", { tool: name }) };
  return { ...words, tool: name, serverName };
}
