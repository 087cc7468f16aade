import { t } from "@/lib/t";
import { TextBlock } from "@/tool-result/content-view";
import { readableText, repeatsText, type ToolResultContent } from "@/tool-result/tool-result-content";
import { hostOf, safeUrl } from "@/markdown/safe-url";
import type { ToolContent, ToolOutput } from "../stream/message";
import { isObject } from "../stream/protocol";
import { InlineImage } from "./inline-image";

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** What a tool gave back. The pieces are the server's: every field is looked at, and nothing is run or fetched. */
export function OutputView({ output }: { output: ToolOutput }) {
  const structured =
    output.structuredContent !== undefined && !repeatsText(output as unknown as ToolResultContent);
  if (output.content.length === 0 && !structured)
    return <p className="text-ink-2">{t("chat.tool.nothing")}</p>;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      {output.content.map((piece, index) => (
        // The pieces of a result never change.
        <Piece key={index} piece={piece} />
      ))}
      {structured && <TextBlock text={JSON.stringify(output.structuredContent, null, 2)} />}
    </div>
  );
}

function Piece({ piece }: { piece: ToolContent }) {
  const type = asText(piece["type"]);
  const data = asText(piece["data"]);
  const mimeType = asText(piece["mimeType"]) ?? "";
  if (type === "text") return <TextBlock text={readableText(asText(piece["text"]) ?? "")} />;
  if (type === "image" && data !== undefined) return <InlineImage data={data} mimeType={mimeType} />;
  if (type === "resource_link") return <ResourceLink piece={piece} />;
  if (type === "resource" && isObject(piece["resource"])) return <Resource resource={piece["resource"]} />;
  return <TextBlock text={JSON.stringify(piece, null, 2)} />;
}

function ResourceLink({ piece }: { piece: ToolContent }) {
  const uri = asText(piece["uri"]) ?? "";
  const url = safeUrl(uri);
  return (
    <p className="text-sm wrap-anywhere">
      {asText(piece["title"]) ?? asText(piece["name"]) ?? uri}{" "}
      <span className="font-mono text-xs text-ink-2">{url ? hostOf(url) : uri}</span>
    </p>
  );
}

function Resource({ resource }: { resource: Readonly<Record<string, unknown>> }) {
  const text = asText(resource["text"]);
  return (
    <div>
      <p className="mb-1 font-mono text-xs wrap-anywhere text-ink-2">{asText(resource["uri"])}</p>
      {text === undefined ? (
        <p className="text-ink-2">{t("chat.tool.binary")}</p>
      ) : (
        <TextBlock text={readableText(text)} />
      )}
    </div>
  );
}
