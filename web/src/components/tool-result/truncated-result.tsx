import { useMutation } from "@tanstack/react-query";
import { type ComponentType, useState } from "react";
import { formatSize, useFileRef } from "@/components/files/file-ref";
import { loadFile } from "@/components/files/use-file";
import { errorText } from "@/lib/error-text";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { type ToolOutput, toToolOutput } from "./tool-output";

interface TruncatedResultProps {
  output: ToolOutput;
  /** Renders a result, truncated or whole. */
  View: ComponentType<{ output: ToolOutput }>;
}

/** Beginning of a result that is too long for its message, with a button to load all of it. */
export function TruncatedResult({ output, View }: TruncatedResultProps) {
  const file = useFileRef(output.whole);
  const [all, setAll] = useState<ToolOutput>();
  const show = useMutation({
    mutationFn: async () => toToolOutput(JSON.parse(await (await loadFile(file?.url ?? "")).text())),
    onSuccess: setAll,
  });
  if (all) return <View output={all} />;
  return (
    <>
      <View output={output} />
      <p className="mt-2.5 flex flex-wrap items-center gap-x-3 gap-y-1.5 border-t border-line pt-2.5 text-sm text-ink-2">
        {t("files.whole")}
        {file && (
          <Button size="sm" busy={show.isPending} className="print:hidden" onClick={() => show.mutate()}>
            {t("files.showAll", { size: formatSize(file.size) })}
          </Button>
        )}
      </p>
      {show.error && (
        <p role="alert" className="text-sm text-err">
          {errorText(show.error)}
        </p>
      )}
    </>
  );
}
