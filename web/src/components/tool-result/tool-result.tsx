import { Activity as Pulse, Check, CircleAlert } from "lucide-react";
import { formatDuration } from "@/lib/format";
import { t } from "@/lib/later-texts";
import { OutputView } from "./output-view";
import type { ToolOutput } from "./tool-output";

type ToolResultProps = { result: ToolOutput; durationMs: number } | { failure: string };

/** Outcome of a call: the tool's result, its error, or the reason why it could not be called. */
export function ToolResult(props: ToolResultProps) {
  const failed = "failure" in props;
  return (
    <section aria-label={t("result.title")} className="rounded-md border border-line text-md animate-enter">
      <div role="status" className="flex min-h-[42px] items-center gap-2.5 px-3 py-1.5">
        <Pulse aria-hidden="true" className="size-4 shrink-0" />
        <span className="mr-auto font-medium">{t("result.title")}</span>
        <Outcome failure={failed} error={!failed && props.result.isError} />
        {!failed && (
          <span className="text-sm text-ink-3 tabular-nums">{formatDuration(props.durationMs)}</span>
        )}
      </div>
      <div className="border-t border-line px-3.5 py-3">
        {failed ? (
          <p className="text-err wrap-anywhere">{props.failure}</p>
        ) : (
          <OutputView output={props.result} />
        )}
      </div>
    </section>
  );
}

function Outcome({ failure, error }: { failure: boolean; error: boolean }) {
  const Icon = failure || error ? CircleAlert : Check;
  return (
    <span className={`inline-flex items-center gap-1.5 text-sm ${failure || error ? "text-err" : "text-ok"}`}>
      <Icon aria-hidden="true" className="size-4" />
      {t(outcomeKey(failure, error))}
    </span>
  );
}

function outcomeKey(failure: boolean, error: boolean): "result.failed" | "result.error" | "result.done" {
  if (failure) return "result.failed";
  return error ? "result.error" : "result.done";
}
