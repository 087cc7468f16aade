import { Ban, Check, CircleAlert, CircleHelp, Hand, LoaderCircle, PencilLine, Square } from "lucide-react";
import { useNow } from "@/lib/use-now";
import { formatDuration } from "@/lib/format";
import { type FirstKey, t } from "@/lib/t";
import type { CallState } from "./call-state";

const LOOK = {
  writing: { Icon: PencilLine, colour: "text-ink-2", words: "chat.tool.writing" },
  running: { Icon: LoaderCircle, colour: "text-ink-2", words: "chat.tool.running" },
  waiting: { Icon: Hand, colour: "text-warn", words: "chat.tool.waiting" },
  done: { Icon: Check, colour: "text-ok", words: "chat.tool.done" },
  failed: { Icon: CircleAlert, colour: "text-err", words: "chat.tool.failed" },
  denied: { Icon: Ban, colour: "text-ink-2", words: "chat.tool.denied" },
  stopped: { Icon: Square, colour: "text-ink-2", words: "chat.tool.stopped" },
  unknown: { Icon: CircleHelp, colour: "text-warn", words: "chat.tool.unknown" },
} as const satisfies Record<CallState, { Icon: typeof Check; colour: string; words: FirstKey }>;

/** State of a tool call as an icon and a label. */
export function CallStateView({ state }: { state: CallState }) {
  const { Icon, colour, words } = LOOK[state];
  return (
    <span className={`inline-flex items-center gap-1.5 text-sm whitespace-nowrap ${colour}`}>
      <Icon aria-hidden="true" className={`size-4 shrink-0 ${state === "running" ? "animate-spin" : ""}`} />
      {t(words)}
    </span>
  );
}

const UPDATE_INTERVAL_MS = 100;

/** Time since `since` (milliseconds since 1970), updated every {@link UPDATE_INTERVAL_MS}. */
export function Elapsed({ since }: { since: number }) {
  const now = useNow(UPDATE_INTERVAL_MS);
  return (
    <>{formatDuration(Math.max(0, Math.floor((now - since) / UPDATE_INTERVAL_MS) * UPDATE_INTERVAL_MS))}</>
  );
}
