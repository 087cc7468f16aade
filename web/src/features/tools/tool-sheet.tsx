import { Suspense, useMemo, useState } from "react";
import { fromToolOutput, ResultServer } from "@/components/tool-result/tool-output";
import { ToolResult } from "@/components/tool-result/tool-result";
import type { AvailableTool, ToolAnnotations } from "@/lib/available-tool";
import { t } from "@/lib/later-texts";
import { lazyPart } from "@/lib/lazy-part";
import { type Preview, type PreviewedChat, PreviewHostContext } from "@/lib/open-preview";
import { showInvisible } from "@/lib/show-invisible";
import type { PartKey, Plain } from "@/lib/t";
import { Button } from "@/ui/button";
import { Sheet } from "@/ui/sheet";
import { ArgumentsEditor } from "./arguments-editor";
import { type ToolRun, useToolRun } from "./run-tool";
import { useArguments } from "./use-arguments";

// Few tools need an elicitation or have an app.
const Elicitation = lazyPart(async () => (await import("@/components/elicitation/elicitation")).Elicitation);

const ToolApp = lazyPart(async () => (await import("@/components/tool-app/tool-app")).ToolApp);

interface ToolSheetProps {
  tool: AvailableTool;
  onClose: () => void;
  onUseInChat: () => void;
}

const NO_MESSAGES = { ids: [] };

/** Chat of a preview that belongs to none. */
const NO_CHAT: PreviewedChat = {
  subscribe: () => () => undefined,
  status: () => NO_MESSAGES,
  message: () => undefined,
};

/** Sheet of a tool: fill in the form, run it, see the result. */
export function ToolSheet({ tool, onClose, onUseInChat }: ToolSheetProps) {
  const editor = useArguments(tool);
  const { run, elicitations, answer } = useToolRun(tool);
  const [preview, setPreview] = useState<Preview>();
  const host = useMemo(() => ({ open: setPreview, chat: NO_CHAT }), []);

  function submit(): void {
    const args = editor.read();
    if (args !== undefined) run.mutate(args);
  }

  return (
    <>
      <Sheet
        title={<span className="font-mono">{tool.name}</span>}
        subtitle={[tool.serverName, hintOf(tool.annotations)].filter(Boolean).join(" · ")}
        onClose={onClose}
        footer={
          <>
            <Button variant="primary" disabled={run.isPending} busy={run.isPending} onClick={submit}>
              {run.isPending ? t("tools.running") : t("tools.run")}
            </Button>
            <Button onClick={onUseInChat}>{t("tools.useInChat")}</Button>
          </>
        }
      >
        {tool.description !== "" && (
          <p className="text-sm whitespace-pre-line text-ink-2 wrap-anywhere">
            {showInvisible(tool.description)}
          </p>
        )}
        <ArgumentsEditor editor={editor} onSubmit={submit} />
        {elicitations.length > 0 && (
          <div
            role="status"
            className="rounded-md border border-line bg-surface [&>section]:first:border-t-0"
          >
            <Suspense>
              {elicitations.map(({ id, request }) => (
                <Elicitation
                  key={id}
                  server={tool.serverName}
                  request={request}
                  onAnswer={(action, content) => answer(id, action, content)}
                />
              ))}
            </Suspense>
          </div>
        )}
        {run.status === "success" && (
          <ResultServer value={tool.serverName}>
            <PreviewHostContext value={host}>
              {tool.hasApp === true ? (
                <Suspense>
                  <RunApp key={run.data.number} tool={tool} run={run.data} />
                </Suspense>
              ) : (
                <ToolResult result={run.data.result} durationMs={run.data.durationMs} />
              )}
            </PreviewHostContext>
          </ResultServer>
        )}
        {run.status === "error" && <ToolResult failure={run.error.message} />}
      </Sheet>
      {preview && (
        <preview.Panel key={preview.id} preview={preview} chat={NO_CHAT} onPreview={setPreview} isModal />
      )}
    </>
  );
}

/** Returns the texts of the tool's annotations. */
function hintOf(annotations: ToolAnnotations | undefined): string {
  const key = hintKey(annotations);
  return key === undefined ? "" : t(key);
}

function hintKey(annotations: ToolAnnotations | undefined): Plain<PartKey<"tools">> | undefined {
  if (annotations === undefined) return undefined;
  if (annotations.readOnlyHint === true) return "tools.readsOnly";
  if (annotations.destructiveHint === true) return "tools.destroys";
  return annotations.readOnlyHint === false ? "tools.writes" : undefined;
}

/** MCP app of a manual tool call. */
function RunApp({ tool, run }: { tool: AvailableTool; run: ToolRun }) {
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
