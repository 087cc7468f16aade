import type { ReactNode } from "react";
import { OutputView } from "@/components/tool-result/output-view";
import { TextBlock } from "@/components/tool-result/text-block";
import { ResultServer } from "@/components/tool-result/tool-output";
import { t } from "@/lib/later-texts";
import { CopyButton } from "@/markdown/copy-button";
import type { ToolPart } from "../stream/message";
import { argumentsText, callAsJson, type CallState } from "./call-state";

/** Arguments and result of a tool call. */
export function ToolBody({ part, state }: { part: ToolPart; state: CallState }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2.5 border-t border-line px-3.5 py-3">
      <Section
        name={t("chat.tool.arguments")}
        action={<CopyButton text={callAsJson(part)} label={t("chat.tool.copy")} />}
      >
        <TextBlock text={argumentsText(part)} />
      </Section>
      {part.output && (
        <Section name={t("result.title")}>
          <ResultServer value={part.serverName ?? ""}>
            <OutputView output={part.output} />
          </ResultServer>
        </Section>
      )}
      {part.errorText !== undefined && <p className="text-err wrap-anywhere">{part.errorText}</p>}
      {state === "running" && part.progress?.message !== undefined && (
        <p className="text-ink-2">{part.progress.message}</p>
      )}
    </div>
  );
}

interface SectionProps {
  name: string;
  action?: ReactNode;
  children: ReactNode;
}

function Section({ name, action, children }: SectionProps) {
  return (
    <section>
      <div className="mb-1 flex min-h-4 items-center justify-between">
        <h4 className="text-xs font-normal tracking-normal text-ink-2">{name}</h4>
        {action !== undefined && <span className="-my-2">{action}</span>}
      </div>
      {children}
    </section>
  );
}
