import { AppWindow } from "lucide-react";
import { startTransition, use, useId } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/later-texts";
import { OpenPreview } from "@/lib/open-preview";
import { Button } from "@/ui/button";
import { previewKind } from "./preview-kind";

const PreviewPanel = lazyPart(async () => (await import("./preview-panel")).PreviewPanel);

interface PreviewButtonProps {
  /** Language of a code block, or MIME type. */
  type: string;
  /** The text, or a function that writes it when the preview is opened. */
  text: string | (() => string);
  /** Name of the file. */
  name?: string;
}

/** Button that opens the preview of a text; nothing where there is none. */
export function PreviewButton({ type, text, name }: PreviewButtonProps) {
  const id = useId();
  const open = use(OpenPreview);
  const kind = previewKind(type);
  if (!open || !kind || (typeof text === "string" && text.trim() === "")) return null;
  return (
    <Button
      variant="quiet"
      size="sm"
      title={t("preview.open")}
      className="justify-self-start px-2! text-xs! text-accent! touch:min-w-11 [&_svg]:size-3.5! print:hidden"
      onClick={({ currentTarget: opener }) =>
        // The chat stays as it is until the panel is there.
        startTransition(() => {
          const written = typeof text === "string" ? text : text();
          const file = name !== undefined && { name };
          open({ id, kind, text: written, Panel: PreviewPanel, opener, ...file });
        })
      }
    >
      <AppWindow aria-hidden="true" />
      <span className="max-wide:sr-only">{t("preview.open")}</span>
    </Button>
  );
}
