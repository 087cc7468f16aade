import { Suspense } from "react";
import { ChevronRight, TriangleAlert } from "lucide-react";
import { t } from "@/lib/later-texts";
import { ContentBlock } from "./content-block";
import { TextBlock } from "./text-block";
import { structuredDisplay } from "./readable";
import type { ToolOutput } from "./tool-output";
import { lazyPart } from "@/lib/lazy-part";

/** Few results are truncated. */
const TruncatedResult = lazyPart(async () => (await import("./truncated-result")).TruncatedResult);

/** Output of a tool: its content blocks in order, and the structured content unless the blocks contain it. */
export function OutputView({ output }: { output: ToolOutput }) {
  return output.whole === undefined ? (
    <ContentBlocks output={output} />
  ) : (
    <Suspense fallback={<ContentBlocks output={output} />}>
      <TruncatedResult output={output} View={ContentBlocks} />
    </Suspense>
  );
}

function ContentBlocks({ output }: { output: ToolOutput }) {
  const place = structuredDisplay(output);
  const structured = <TextBlock text={JSON.stringify(output.structuredContent, null, 2) ?? ""} />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      {output.schemaError !== undefined && (
        <p className="flex gap-2 text-sm text-warn wrap-anywhere">
          <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
          {t("result.mismatch", { reason: output.schemaError })}
        </p>
      )}
      {output.content.length === 0 && place === "none" && <p className="text-ink-2">{t("result.empty")}</p>}
      {output.content.map((block, index) => (
        // Blocks of a result never change.
        <ContentBlock key={index} block={block} />
      ))}
      {place === "open" && structured}
      {place === "folded" && (
        <details className="group">
          <summary className="flex w-fit cursor-default list-none items-center gap-1 rounded-sm py-0.5 text-xs text-ink-2 select-none hover:text-ink touch:h-11">
            {t("result.structured")}
            <ChevronRight
              aria-hidden="true"
              className="size-3.5 transition-transform duration-150 group-open:rotate-90"
            />
          </summary>
          <div className="pt-1.5">{structured}</div>
        </details>
      )}
    </div>
  );
}
