import { Activity as Pulse, Check, CircleAlert } from "lucide-react";
import { formatDuration } from "@/lib/format";
import { type MessageKey, t } from "@/lib/t";
import { ContentView, TextBlock } from "./content-view";
import { repeatsText, type ToolResultContent } from "./tool-result-content";

type ToolResultProps = { result: ToolResultContent; durationMs: number } | { failure: string };

/** What came of a call: the tool's answer, its own error, or why it could not be called. */
export function ToolResult(props: ToolResultProps) {
  const failed = "failure" in props;
  return (
    <section aria-label={t("result.title")} className="rounded-md border border-line text-md animate-enter">
      <div role="status" className="flex min-h-[42px] items-center gap-2.5 px-3 py-1.5">
        <Pulse aria-hidden="true" className="size-4 shrink-0" />
        <span className="mr-auto font-medium">{t("result.title")}</span>
        <Outcome failure={failed} error={!failed && props.result.isError === true} />
        {!failed && (
          <span className="text-sm text-ink-3 tabular-nums">{formatDuration(props.durationMs)}</span>
        )}
      </div>
      <div className="grid gap-2.5 border-t border-line px-3.5 py-3">
        {failed ? (
          <p className="text-err wrap-anywhere">{props.failure}</p>
        ) : (
          <Contents result={props.result} />
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

function outcomeKey(failure: boolean, error: boolean): MessageKey {
  if (failure) return "result.failed";
  return error ? "result.error" : "result.done";
}

function Contents({ result }: { result: ToolResultContent }) {
  const structured = result.structuredContent !== undefined && !repeatsText(result);
  if (result.content.length === 0 && !structured) return <p className="text-ink-2">{t("result.empty")}</p>;
  return (
    <>
      {result.content.map((item, index) => (
        <ContentView key={index} item={item} />
      ))}
      {structured && (
        <div>
          <p className="mb-1 text-xs text-ink-2">{t("result.structured")}</p>
          <TextBlock text={JSON.stringify(result.structuredContent, null, 2)} />
        </div>
      )}
    </>
  );
}
