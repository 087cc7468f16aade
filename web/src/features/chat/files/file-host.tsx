import { Paperclip } from "lucide-react";
import { type RefObject, useEffect, useEffectEvent, useRef } from "react";
import { createPortal } from "react-dom";
import { isPicture, toFileRef } from "@/components/files/file-ref";
import { t } from "@/lib/later-texts";
import { IconButton } from "@/ui/button";
import type { Attachments } from "../composer/use-attachments";
import { DropZone } from "./drop-zone";
import { deleteUpload } from "./upload";
import { AttachedFile, UploadChip } from "./upload-chips";
import { useUploads } from "./use-uploads";
import { useChatModel } from "../queries";

/** Longer pasted texts become a file. In characters. */
const MAX_PASTED_CHARS = 4_000;

interface FileHostProps {
  chatId: string;
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  write: (text: string) => void;
  attached: Attachments;
  /** Element above the text that shows the files. */
  slot: HTMLElement | null;
}

/** Images and documents of the message in the composer: chosen, pasted, or dropped on the chat. */
export function FileHost({ chatId, field, text, write, attached, slot }: FileHostProps) {
  const input = useRef<HTMLInputElement>(null);
  const { uploads, add, retry, cancel } = useUploads(chatId, attached);
  const files = attached.list.filter((one) => one.kind === "file");

  const onPaste = useEffectEvent((event: ClipboardEvent) => {
    const { clipboardData } = event;
    const pasted = [...(clipboardData?.files ?? [])];
    const words = clipboardData?.getData("text/plain") ?? "";
    // Text copied from a table or a page comes with an image of itself.
    if (words === "" && pasted.length > 0) add(pasted);
    else if (words.length > MAX_PASTED_CHARS)
      add([new File([words], t("files.pasted"), { type: "text/plain" })]);
    else return;
    event.preventDefault();
  });
  useEffect(() => {
    const area = field.current;
    const listener = (event: ClipboardEvent) => onPaste(event);
    area?.addEventListener("paste", listener);
    return () => area?.removeEventListener("paste", listener);
  }, [field]);

  function remove(id: string): void {
    attached.change((before) => before.filter((other) => other.id !== id));
    deleteUpload(id);
    field.current?.focus();
  }

  return (
    <>
      <IconButton
        size="sm"
        label={t("files.attach")}
        icon={<Paperclip />}
        onClick={() => input.current?.click()}
      />
      <input
        ref={input}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          add([...(target.files ?? [])]);
          // Otherwise the same file could not be chosen again.
          target.value = "";
          field.current?.focus();
        }}
      />
      <DropZone field={field} onFiles={add} />
      {slot !== null &&
        files.length + uploads.length > 0 &&
        createPortal(
          <>
            <ul
              aria-label={t("files.attached")}
              className="mb-2 flex max-h-[min(12rem,30dvh)] flex-wrap gap-2 overflow-y-auto"
            >
              {files.map((draft) => {
                const file = toFileRef(draft);
                return (
                  file && (
                    <AttachedFile
                      key={draft.id}
                      file={file}
                      onRemove={() => remove(draft.id)}
                      onInsert={(words) => {
                        write(text === "" ? words : `${text}\n${words}`);
                        remove(draft.id);
                      }}
                    />
                  )
                );
              })}
              {uploads.map((upload) => (
                <UploadChip
                  key={upload.key}
                  upload={upload}
                  onCancel={() => {
                    cancel(upload.key);
                    field.current?.focus();
                  }}
                  onRetry={() => retry(upload)}
                />
              ))}
            </ul>
            <UnsupportedInputNotice chatId={chatId} kinds={files.map((draft) => draft.mediaType)} />
          </>,
          slot,
        )}
    </>
  );
}

/** Warns that the chosen model will ignore an attachment, if that is known. */
function UnsupportedInputNotice({ chatId, kinds }: { chatId: string; kinds: readonly string[] }) {
  const { model } = useChatModel(chatId);
  const facts = model?.facts;
  const pictures = facts?.images === false && kinds.some((mediaType) => isPicture({ mediaType }));
  const documents = facts?.pdf === false && kinds.includes("application/pdf");
  if (!model || !(pictures || documents)) return null;
  return (
    <p role="status" className="mb-2 text-sm wrap-anywhere text-warn">
      {t(pictures ? "files.blind" : "files.blind.pdf", { model: model.name })}
    </p>
  );
}
