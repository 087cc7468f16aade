import { type MouseEvent, startTransition, use, useId } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { PreviewHostContext } from "@/lib/open-preview";
import { previewKind } from "./preview-kind";

const PreviewPanel = lazyPart(async () => (await import("./preview-panel")).PreviewPanel);

export interface PreviewSource {
  /** Language of a code block, or MIME type. */
  type: string;
  /** The text, or a function that writes it when the preview is opened. */
  text: string | (() => string);
  /** Name of the file. */
  name?: string;
}

/** Returns a handler for the click on a button that opens a preview; undefined where there is none. */
export function usePreviewOpener({ type, text, name }: PreviewSource) {
  const id = useId();
  const host = use(PreviewHostContext);
  const kind = previewKind(type);
  if (!host || !kind || (typeof text === "string" && text.trim() === "")) return undefined;
  return ({ currentTarget: opener }: MouseEvent<HTMLElement>) =>
    // The chat stays as it is until the panel is there.
    startTransition(() => {
      const written = typeof text === "string" ? text : text();
      const file = name !== undefined && { name };
      host.open({ id, kind, text: written, Panel: PreviewPanel, opener, ...file });
    });
}
