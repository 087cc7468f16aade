import { useMemo } from "react";
import { ToolApp } from "@/components/tool-app/tool-app";
import { fromToolOutput } from "@/components/tool-result/tool-output";
import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/later-texts";
import type { ToolRun } from "./run-tool";

/** MCP app of a manual tool call. */
export function RunApp({ tool, run }: { tool: AvailableTool; run: ToolRun }) {
  const input = useMemo(() => ({ arguments: run.arguments, result: fromToolOutput(run.result) }), [run]);
  return (
    <section
      aria-label={t("result.title")}
      className="overflow-clip rounded-md border border-line text-md [&>*]:border-t-0"
    >
      <ToolApp
        callId={`${tool.serverName}.${tool.name}`}
        serverName={tool.serverName}
        tool={tool.name}
        input={input}
        output={run.result}
      />
    </section>
  );
}
