import { type MessageKey, t } from "@/lib/t";
import { ProgressBar } from "../progress-bar";
import type { ChatStatus } from "../stream/chat-contract";
import type { ModelStatus } from "../stream/protocol";

/** One line under the conversation while nothing else there shows that work goes on. */
export function TurnStatus({ status }: { status: ChatStatus }) {
  const { phase, reconnecting, speaking, modelStatus } = status;
  if (phase === "idle" || (speaking && !reconnecting)) return null;
  const reading =
    !reconnecting && (modelStatus?.state === "reading-tools" || modelStatus?.state === "reading")
      ? modelStatus
      : null;
  return (
    <p className="flex items-center gap-2.5 text-ink-2">
      <span aria-hidden="true" className="size-2 animate-pulse rounded-full bg-accent" />
      {reconnecting ? t("chat.reconnecting") : wordsFor(modelStatus)}
      {reading && reading.total > 0 && (
        <ProgressBar label={wordsFor(reading)} value={reading.done} total={reading.total} />
      )}
    </p>
  );
}

const WORDS = {
  loading: "chat.status.loading",
  "reading-tools": "chat.status.readingTools",
  reading: "chat.status.reading",
} as const satisfies Record<string, MessageKey>;

function wordsFor(status: ModelStatus | null): string {
  if (!status) return t("chat.thinking");
  if (status.state === "queued") return t("chat.status.queued", { n: status.ahead });
  if (status.state === "retrying")
    return t("chat.status.retrying", { n: Math.ceil(status.after_ms / 1_000) });
  return t(WORDS[status.state]);
}
