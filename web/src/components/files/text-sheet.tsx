import { useEffect, useState } from "react";
import { showInvisible } from "@/lib/show-invisible";
import { Button } from "@/ui/button";
import { Sheet } from "@/ui/sheet";
import { Spinner } from "@/ui/spinner";
import { type FileRef, formatSize, nameOf } from "./file-ref";
import { t } from "@/lib/later-texts";
import { useFile } from "./use-file";

/** Number of characters shown; the whole text can be saved. */
const MAX_PREVIEW_CHARS = 200_000;

interface TextSheetProps {
  file: FileRef;
  /** Inserts the text into the message field. */
  onInsert?: (text: string) => void;
  onClose: () => void;
}

/** Sheet with the preview of a text. */
export function TextSheet({ file, onInsert, onClose }: TextSheetProps) {
  const { blob, error } = useFile(file.url);
  const [text, setText] = useState<string>();
  useEffect(() => {
    let wanted = true;
    void blob?.text().then((read) => wanted && setText(read));
    return () => {
      wanted = false;
    };
  }, [blob]);
  return (
    <Sheet
      title={showInvisible(nameOf(file))}
      subtitle={formatSize(file.size)}
      onClose={onClose}
      {...(onInsert &&
        text !== undefined && {
          footer: <Button onClick={() => onInsert(text)}>{t("files.insert")}</Button>,
        })}
    >
      {error !== null && <p className="text-err">{t("files.gone")}</p>}
      {error === null && text === undefined && <Spinner />}
      {text !== undefined && (
        <pre dir="auto" className="font-mono text-sm whitespace-pre-wrap wrap-anywhere">
          {showInvisible(text.slice(0, MAX_PREVIEW_CHARS))}
        </pre>
      )}
      {text !== undefined && text.length > MAX_PREVIEW_CHARS && (
        <p className="text-sm text-ink-2">{t("files.cut")}</p>
      )}
    </Sheet>
  );
}
