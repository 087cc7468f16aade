import { Download } from "lucide-react";
import { formatSize } from "@/components/files/file-ref";
import type { JsonObject } from "@/lib/json";
import { saveFile } from "@/lib/save-file";
import { showInvisible } from "@/lib/show-invisible";
import { Button } from "@/ui/button";
import { isDisplayableImage, InlineImage } from "./inline-media";
import { FileText } from "./json-block";
import { t } from "@/lib/later-texts";

const asText = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** Resource embedded in a result: a text, an image, or a file to save. */
export function EmbeddedResource({ resource }: { resource: JsonObject }) {
  const uri = asText(resource["uri"]) ?? "";
  const text = asText(resource["text"]);
  const blob = asText(resource["blob"]);
  const mimeType = asText(resource["mimeType"]) ?? "";
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1.5">
      <p className="font-mono text-xs wrap-anywhere text-ink-2">{showInvisible(uri)}</p>
      {text !== undefined && <FileText text={text} mimeType={mimeType} name={fileName(uri)} />}
      {text === undefined && blob !== undefined && isDisplayableImage(mimeType) && (
        <InlineImage data={blob} mimeType={mimeType} />
      )}
      {text === undefined && blob !== undefined && (
        <BlobFile blob={blob} mimeType={mimeType} name={fileName(uri)} />
      )}
    </div>
  );
}

/** File to save, with a type that no browser opens. */
function BlobFile({ blob, mimeType, name }: { blob: string; mimeType: string; name: string }) {
  const bytes = bytesOf(blob);
  if (bytes === undefined) return <p className="text-sm text-err">{t("result.unreadable")}</p>;
  return (
    <p className="flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-ink-2">
      <Button
        size="sm"
        onClick={() => saveFile({ name, content: new Blob([bytes], { type: "application/octet-stream" }) })}
      >
        <Download aria-hidden="true" />
        {t("result.save", { name })}
      </Button>
      {t("result.fileKind", {
        type: mimeType === "" ? t("result.unknownType") : mimeType,
        size: formatSize(bytes.length),
      })}
    </p>
  );
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Returns a file name from the end of a URI, without path separators. */
function fileName(uri: string): string {
  const last =
    uri
      .split(/[?#]/u)[0]
      ?.split("/")
      .findLast((part) => part !== "") ?? "";
  const plain = last
    .replaceAll(/[^\w.-]+/gu, "_")
    .replace(/^\.+/u, "")
    .slice(-80);
  return plain === "" ? "resource" : plain;
}
