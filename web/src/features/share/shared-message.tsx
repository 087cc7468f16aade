import { Activity as Pulse } from "lucide-react";
import { FileView } from "@/components/files/file-view";
import { OutputView } from "@/components/tool-result/output-view";
import { TextBlock } from "@/components/tool-result/text-block";
import { toToolOutput } from "@/components/tool-result/tool-output";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { drawable } from "@/markdown/drawable-text";
import { Markdown } from "@/markdown/markdown";
import { HeadingLevel } from "@/markdown/render-node";
import type { SharedMessage, SharedPart, WholeCall } from "./queries";

/** Message of a shared chat. Content outside of the visible area is rendered lazily. */
export function SharedMessageView({ message: { role, parts } }: { message: SharedMessage }) {
  if (role === "user") {
    const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
    const files = parts.filter(({ type }) => type === "file" || type === "hidden-file");
    return (
      <article
        aria-label={t("share.you")}
        className="message flex flex-col items-end [content-visibility:auto]"
      >
        <h2 className="sr-only">{t("share.you")}</h2>
        {files.length > 0 && (
          <ul aria-label={t("files.attached")} className="mb-1 flex max-w-[85%] flex-wrap justify-end gap-2">
            {files.map((part, index) => (
              // Parts of a shared message never change.
              <li key={index} className="max-w-full">
                <PartView part={part} small />
              </li>
            ))}
          </ul>
        )}
        <p
          dir="auto"
          className="max-w-[85%] rounded-[18px_18px_6px_18px] bg-accent-soft px-4 py-[9px] whitespace-pre-wrap wrap-anywhere"
        >
          {drawable(text)}
        </p>
      </article>
    );
  }
  return (
    <article
      aria-label={t("share.assistant")}
      className="message grid grid-cols-[minmax(0,1fr)] gap-3.5 [content-visibility:auto]"
    >
      <h2 className="sr-only">{t("share.assistant")}</h2>
      <HeadingLevel value={3}>
        {parts.map((part, index) => (
          // Parts of a shared message never change.
          <PartView key={index} part={part} />
        ))}
      </HeadingLevel>
    </article>
  );
}

function PartView({ part, small = false }: { part: SharedPart; small?: boolean }) {
  if (part.type === "text") return <Markdown text={part.text} complete />;
  if (part.type === "file") return <FileView file={{ ...part, url: `/v1/files/${part.id}` }} small={small} />;
  if (part.type === "hidden-file") return <p className="text-sm text-ink-2">{t("files.hidden")}</p>;
  const call = part.type === "tool-call" ? part : part.call;
  return (
    <div className="rounded-md border border-line bg-surface text-md">
      <p className="flex min-h-[42px] items-center gap-2.5 px-3 py-1.5">
        <Pulse aria-hidden="true" className="size-4 shrink-0" />
        <span className="min-w-0 flex-1 wrap-anywhere">
          {t("share.tool", { tool: showInvisible(call.name) })}
        </span>
        <span className="text-sm text-ink-2">{t(`share.outcome.${call.outcome}`)}</span>
      </p>
      {part.type === "whole-tool-call" && <Details call={part.call} />}
    </div>
  );
}

function Details({ call }: { call: WholeCall }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2.5 border-t border-line px-3.5 py-3">
      <p className="text-xs text-ink-2">{t("share.arguments")}</p>
      <TextBlock text={JSON.stringify(call.arguments, null, 2) ?? ""} />
      {call.result !== undefined && (
        <>
          <p className="text-xs text-ink-2">{t("share.result")}</p>
          <OutputView output={toToolOutput(call.result)} />
        </>
      )}
      {call.error !== undefined && <p className="text-sm text-err wrap-anywhere">{call.error}</p>}
    </div>
  );
}
