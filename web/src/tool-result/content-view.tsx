import { useState } from "react";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";
import { type ContentItem, readableText } from "./tool-result-content";

/** Longer texts are cut until the reader asks for the rest. */
const shownLines = 200;

/** One piece of a tool's answer. Nothing here is run or fetched: pictures and sounds come inside the answer itself. */
export function ContentView({ item }: { item: ContentItem }) {
  switch (item.type) {
    case "text":
      return <TextBlock text={readableText(item.text)} />;
    case "image":
      return (
        <img
          src={`data:${item.mimeType};base64,${item.data}`}
          alt={t("result.image")}
          className="max-w-full rounded-md border border-line"
        />
      );
    case "audio":
      return (
        // oxlint-disable-next-line jsx-a11y/media-has-caption -- A tool's sound comes without captions.
        <audio controls src={`data:${item.mimeType};base64,${item.data}`} className="w-full" />
      );
    case "resource":
      return (
        <div>
          <p className="mb-1 text-xs text-ink-2 wrap-anywhere">
            {t("result.resource", { uri: item.resource.uri })}
          </p>
          {item.resource.text !== undefined && <TextBlock text={readableText(item.resource.text)} />}
        </div>
      );
    case "resource_link":
      return (
        <p className="text-sm wrap-anywhere">
          {item.title ?? item.name ?? item.uri}{" "}
          <span className="font-mono text-xs text-ink-2">{item.uri}</span>
        </p>
      );
    default:
      return (
        <p className="text-sm text-ink-2">{t("result.unknown", { type: (item as { type: string }).type })}</p>
      );
  }
}

export function TextBlock({ text }: { text: string }) {
  const [whole, setWhole] = useState(false);
  const lines = text.split("\n");
  const isCut = !whole && lines.length > shownLines;
  return (
    <div>
      <pre className="rounded-[8px] bg-sunken px-3 py-[9px] font-mono text-sm whitespace-pre-wrap wrap-anywhere">
        {isCut ? lines.slice(0, shownLines).join("\n") : text}
      </pre>
      {isCut && (
        <Button variant="quiet" size="sm" onClick={() => setWhole(true)}>
          {t("result.showAll", { n: lines.length })}
        </Button>
      )}
    </div>
  );
}
