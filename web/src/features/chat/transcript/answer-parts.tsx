import { Info } from "lucide-react";
import { type ReactNode, Suspense } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { hostOf, safeUrl } from "@/lib/safe-url";
import { Markdown } from "@/markdown/markdown";
import type { ChatMessage, Part, SourcePart, ToolPart } from "../stream/message";
import { ToolGroup } from "../tool-call/tool-group";
import { Reasoning } from "./reasoning";

/** Few answers contain an image. */
const FileView = lazyPart(async () => (await import("@/components/files/file-view")).FileView);

/** Parts of an answer in order, with consecutive tool calls grouped. */
export function AnswerParts({ message }: { message: ChatMessage }) {
  const live = message.status === "streaming";
  const groups = grouped(message.parts);
  return groups.map((group, index) =>
    // Parts are only appended, so the index is a stable key.
    Array.isArray(group) ? (
      <ToolGroup
        key={index}
        parts={group}
        messageStatus={message.status}
        isOver={!live || index < groups.length - 1}
      />
    ) : (
      <PartView key={index} part={group} live={live} />
    ),
  );
}

type Single = Exclude<Part, ToolPart>;

function grouped(parts: readonly Part[]): (Single | ToolPart[])[] {
  const groups: (Single | ToolPart[])[] = [];
  for (const part of parts) {
    const last = groups.at(-1);
    if (part.type === "step-start") continue;
    if (part.type !== "dynamic-tool") groups.push(part);
    else if (Array.isArray(last)) last.push(part);
    else groups.push([part]);
  }
  return groups;
}

function PartView({ part, live }: { part: Single; live: boolean }): ReactNode {
  switch (part.type) {
    case "text":
      return part.text === "" ? null : (
        <Markdown text={part.text} complete={!live || part.state === "done"} />
      );
    case "reasoning":
      return part.text === "" ? null : <Reasoning part={part} live={live} />;
    case "source-url":
      return <Source part={part} />;
    case "notice":
      return (
        <p className="flex items-baseline gap-2 text-sm text-ink-2 wrap-anywhere">
          <Info aria-hidden="true" className="size-3.5 shrink-0 translate-y-0.5" />
          {part.text}
        </p>
      );
    case "file":
      return (
        <Suspense>
          <FileView file={part} />
        </Suspense>
      );
    // Below the answer, as long as it is the newest message.
    case "reply-options":
    case "step-start":
    case "attachment":
      return null;
    default:
      return part satisfies never;
  }
}

function Source({ part }: { part: SourcePart }) {
  const url = safeUrl(part.url);
  if (!url) return null;
  return (
    <a
      href={url.href}
      title={hostOf(url)}
      target="_blank"
      rel="noopener noreferrer"
      className="justify-self-start text-sm text-ink-2 underline"
    >
      {part.title ?? hostOf(url)}
    </a>
  );
}
