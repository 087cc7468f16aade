import { useMutation } from "@tanstack/react-query";
import { ChevronRight, TriangleAlert } from "lucide-react";
import { useMemo, useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { formatSize, useFileRef } from "@/components/files/file-ref";
import { loadFile } from "@/components/files/use-file";
import { ErrorMessage } from "@/ui/error-message";
import { ContentBlock } from "./content-block";
import { JsonBlock } from "./json-block";
import { structuredDisplay } from "./readable";
import { type ToolOutput, toToolOutput } from "./tool-output";

/** Output of a tool: its content blocks in order, and the structured content unless the blocks contain it. */
export function OutputView({ output }: { output: ToolOutput }) {
  return output.whole === undefined ? <ContentBlocks output={output} /> : <TruncatedResult output={output} />;
}

function ContentBlocks({ output }: { output: ToolOutput }) {
  // Comparing a long result takes a while.
  const place = useMemo(() => structuredDisplay(output), [output]);
  const structured = <JsonBlock value={output.structuredContent} />;
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

/** Beginning of a result that is too long for its message, with a button to load all of it. */
function TruncatedResult({ output }: { output: ToolOutput }) {
  const file = useFileRef(output.whole);
  const [all, setAll] = useState<ToolOutput>();
  const show = useMutation({
    mutationFn: async () => toToolOutput(JSON.parse(await (await loadFile(file?.url ?? "")).text())),
    onSuccess: setAll,
  });
  if (all) return <ContentBlocks output={all} />;
  return (
    <>
      <ContentBlocks output={output} />
      <p className="mt-2.5 flex flex-wrap items-center gap-x-3 gap-y-1.5 border-t border-line pt-2.5 text-sm text-ink-2">
        {t("files.whole")}
        {file && (
          <Button size="sm" busy={show.isPending} className="print:hidden" onClick={() => show.mutate()}>
            {t("files.showAll", { size: formatSize(file.size) })}
          </Button>
        )}
      </p>
      <ErrorMessage error={show.error} />
    </>
  );
}
