import { useMemo } from "react";
import { FileView } from "@/components/files/file-view";
import { kindByLook } from "@/components/preview/kind-by-look";
import { PreviewButton } from "@/components/preview/preview-button";
import { isObject, type JsonObject } from "@/lib/json";
import { EmbeddedResource } from "./embedded-resource";
import { InlineAudio, InlineImage } from "./inline-media";
import { TextOrJson } from "./json-block";
import { t } from "@/lib/later-texts";
import { ResourceLink } from "./resource-link";
import { TextBlock } from "./text-block";

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Content block of a tool result. Nothing is executed or fetched: images and audio are embedded in the result. */
export function ContentBlock({ block }: { block: JsonObject }) {
  if (!isForUser(block)) {
    return (
      <details className="text-sm">
        <summary className="w-fit cursor-default py-0.5 text-xs text-ink-2 hover:text-ink touch:py-3.5">
          {t("result.forAssistant")}
        </summary>
        <div className="pt-1.5">
          <Content block={block} />
        </div>
      </details>
    );
  }
  return <Content block={block} />;
}

/** Returns true if a block is meant for the user: its audience is empty or includes them. */
function isForUser({ annotations }: JsonObject): boolean {
  const audience = isObject(annotations) ? annotations["audience"] : undefined;
  return !Array.isArray(audience) || audience.length === 0 || audience.includes("user");
}

function Content({ block }: { block: JsonObject }) {
  const type = asText(block["type"]);
  // Large binary data is stored outside of the result.
  if (isObject(block["file"])) return <FileView file={block["file"]} />;
  const data = asText(block["data"]);
  const mimeType = asText(block["mimeType"]) ?? "";
  if (type === "text") return <PreviewableText text={asText(block["text"]) ?? ""} />;
  if (type === "image" && data !== undefined) return <InlineImage data={data} mimeType={mimeType} />;
  if (type === "audio" && data !== undefined) return <InlineAudio data={data} mimeType={mimeType} />;
  if (type === "resource_link") return <ResourceLink link={block} />;
  if (type === "resource" && isObject(block["resource"]))
    return <EmbeddedResource resource={block["resource"]} />;
  return <TextBlock text={JSON.stringify(block, null, 2)} />;
}

/** Text of a tool, with a preview if it looks like a page, an image, formatted text or a table. */
function PreviewableText({ text }: { text: string }) {
  const kind = useMemo(() => kindByLook(text), [text]);
  if (!kind) return <TextOrJson text={text} />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1.5">
      <PreviewButton type={kind} text={text} />
      <TextOrJson text={text} />
    </div>
  );
}
