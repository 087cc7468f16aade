import { ChevronRight } from "lucide-react";
import { formatDuration } from "@/lib/format";
import { t } from "@/lib/t";
import { ElapsedSeconds } from "../elapsed-seconds";
import { Markdown } from "@/markdown/markdown";
import type { ReasoningPart } from "../stream/message";

/** Reasoning of the model, folded. */
export function Reasoning({ part, live }: { part: ReasoningPart; live: boolean }) {
  const thinking = live && part.state === "streaming";
  return (
    <details className="group text-md text-ink-2">
      <summary className="inline-flex list-none items-center gap-1.5 rounded-sm hover:text-ink touch:min-h-11">
        <ChevronRight
          aria-hidden="true"
          className="size-4 transition-transform duration-150 group-open:rotate-90"
        />
        {thinking ? t("chat.reasoning.now") : title(part)}
        {thinking && part.startedAt !== undefined && <ElapsedSeconds since={part.startedAt} />}
      </summary>
      <div className="mt-2 border-l-2 border-line pl-4">
        <Markdown text={part.text} complete={!thinking} />
      </div>
    </details>
  );
}

function title({ startedAt, endedAt }: ReasoningPart): string {
  if (startedAt === undefined || endedAt === undefined || endedAt <= startedAt)
    return t("chat.reasoning.done");
  return t("chat.reasoning.took", { time: formatDuration(endedAt - startedAt) });
}
