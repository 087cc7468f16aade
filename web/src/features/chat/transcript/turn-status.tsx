import { type FirstKey, t } from "@/lib/t";
import { ElapsedSeconds } from "../elapsed-seconds";
import { ProgressBar } from "../progress-bar";
import type { ChatStatus } from "../stream/chat-contract";
import type { ModelStatus } from "../stream/protocol";

/** Status line below the conversation while nothing else shows that a turn is running. */
export function TurnStatus({ status }: { status: ChatStatus }) {
  const { phase, reconnecting, isStreamingText, modelStatus, pendingCount, hasPendingElicitation } = status;
  if (phase === "idle" || (isStreamingText && !reconnecting)) return null;
  const words = pendingCount > 0 ? t(hasPendingElicitation ? "chat.asks" : "chat.waits") : t("chat.thinking");
  return (
    <p className="flex flex-wrap items-center gap-x-2.5 text-ink-2">
      <span aria-hidden="true" className="size-2 animate-pulse rounded-full bg-accent" />
      <span>{reconnecting ? t("chat.reconnecting") : words}</span>
      {status.busySince !== null && <ElapsedSeconds since={status.busySince} />}
      {modelStatus && !reconnecting && <ModelWork status={modelStatus} />}
    </p>
  );
}

const WORDS = {
  loading: "chat.status.loading",
  "reading-tools": "chat.status.readingTools",
  reading: "chat.status.reading",
} as const satisfies Record<string, FirstKey>;

/** Activity of the model before its first token. */
function ModelWork({ status }: { status: ModelStatus }) {
  const words = wordsFor(status);
  return (
    <span className="flex flex-1 items-center gap-2.5 text-sm tabular-nums">
      <span className="whitespace-nowrap">{words}</span>
      {"total" in status && status.total > 0 && (
        <ProgressBar label={words} value={status.done} total={status.total} />
      )}
    </span>
  );
}

function wordsFor(status: ModelStatus): string {
  if (status.state === "queued") return t("chat.status.queued", { n: status.ahead });
  if (status.state === "retrying")
    return t("chat.status.retrying", { n: Math.ceil(status.after_ms / 1_000) });
  return t(WORDS[status.state]);
}
