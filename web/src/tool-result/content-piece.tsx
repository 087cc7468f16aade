import { isObject, type JsonObject } from "@/lib/json";
import { showInvisible } from "@/lib/show-invisible";
import { t } from "@/lib/t";
import { InlineImage } from "./inline-image";
import { TextBlock } from "./text-block";
import { readableText } from "./readable";

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** One piece of a tool's result. Nothing is run or fetched: pictures and sounds come inside the result itself. */
export function ContentPiece({ piece }: { piece: JsonObject }) {
  const type = asText(piece["type"]);
  const data = asText(piece["data"]);
  const mimeType = asText(piece["mimeType"]) ?? "";
  if (type === "text") return <TextBlock text={readableText(asText(piece["text"]) ?? "")} />;
  if (type === "image" && data !== undefined) return <InlineImage data={data} mimeType={mimeType} />;
  if (type === "audio" && data !== undefined && mimeType.startsWith("audio/"))
    return (
      // oxlint-disable-next-line jsx-a11y/media-has-caption -- A tool's sound comes without captions.
      <audio controls src={`data:${mimeType};base64,${data}`} className="w-full" />
    );
  if (type === "resource_link") return <ResourceLink piece={piece} />;
  if (type === "resource" && isObject(piece["resource"])) return <Resource resource={piece["resource"]} />;
  return <TextBlock text={JSON.stringify(piece, null, 2)} />;
}

function ResourceLink({ piece }: { piece: JsonObject }) {
  const uri = asText(piece["uri"]) ?? "";
  return (
    <p className="text-sm wrap-anywhere">
      {showInvisible(asText(piece["title"]) ?? asText(piece["name"]) ?? "")}{" "}
      <span className="font-mono text-xs text-ink-2">{showInvisible(uri)}</span>
    </p>
  );
}

function Resource({ resource }: { resource: JsonObject }) {
  const text = asText(resource["text"]);
  return (
    <div>
      <p className="mb-1 font-mono text-xs wrap-anywhere text-ink-2">
        {showInvisible(asText(resource["uri"]) ?? "")}
      </p>
      {text === undefined ? (
        <p className="text-ink-2">{t("result.binary")}</p>
      ) : (
        <TextBlock text={readableText(text)} />
      )}
    </div>
  );
}
