import { AppWindow } from "lucide-react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { type PreviewSource, usePreviewOpener } from "./use-preview-opener";

/** Button that opens the preview of a text; nothing where there is none. */
export function PreviewButton(source: PreviewSource) {
  const open = usePreviewOpener(source);
  if (!open) return null;
  return (
    <Button
      variant="quiet"
      size="sm"
      title={t("preview.open")}
      className="justify-self-start px-2! text-xs! text-accent! touch:min-w-11 [&_svg]:size-3.5! print:hidden"
      onClick={open}
    >
      <AppWindow aria-hidden="true" />
      <span className="max-wide:sr-only">{t("preview.open")}</span>
    </Button>
  );
}
