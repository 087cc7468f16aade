import { useMutation } from "@tanstack/react-query";
import { Paperclip, Pencil, SendHorizontal, X } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { isComposing, sendOnEnter } from "@/lib/enter-key";
import { showInvisible } from "@/lib/show-invisible";
import { Button, IconButton } from "@/ui/button";
import { Textarea } from "@/ui/field";
import { t } from "@/lib/later-texts";
import { toastFailure } from "@/ui/toast";

interface QueuedRowProps {
  content: string;
  /** Names of the message's attachments. */
  attached: readonly string[];
  change: (words: string) => Promise<void>;
  remove: () => Promise<void>;
  /** Sends the message before its turn, if that is possible. */
  send?: () => Promise<void>;
  /** Called after an action on the message, successful or not. */
  onChanged?: () => Promise<void>;
}

/** Queued message with the actions send now, edit and remove. */
export function QueuedRow({ content, attached, change, remove, send, onChanged }: QueuedRowProps) {
  const [words, setWords] = useState<string>();
  const edit = useRef<HTMLButtonElement>(null);
  const action = useMutation({
    mutationFn: (run: () => Promise<void>) => run(),
    // A held message can be changed without a network.
    networkMode: "always",
    onSuccess: () => onChanged?.(),
    onError: (error) => {
      toastFailure(t("queue.failed"), error);
      void onChanged?.();
    },
  });
  const busy = action.isPending;

  function leave(): void {
    setWords(undefined);
    requestAnimationFrame(() => edit.current?.focus());
  }

  function save(): void {
    if (words === undefined || words.trim() === "") return;
    action.mutate(() => change(words));
    leave();
  }

  if (words !== undefined)
    return (
      <li className="grid grid-cols-[minmax(0,1fr)] gap-2 py-1.5 pr-2.5">
        <Field words={words} onChange={setWords} onSave={save} onLeave={leave} />
        <div className="flex flex-wrap justify-end gap-2">
          <Button size="sm" variant="quiet" onClick={leave}>
            {t("queue.cancel")}
          </Button>
          <Button size="sm" disabled={words.trim() === ""} onClick={save}>
            {t("queue.save")}
          </Button>
        </div>
      </li>
    );
  return (
    <li className="flex items-center gap-0.5">
      <div className="min-w-0 flex-1">
        <p dir="auto" className="line-clamp-2 wrap-anywhere">
          {content}
        </p>
        {attached.length > 0 && <Attached names={attached} />}
      </div>
      {send && (
        <IconButton
          size="sm"
          label={t("queue.send")}
          icon={<SendHorizontal />}
          aria-disabled={busy}
          onClick={() => !busy && action.mutate(send)}
        />
      )}
      <IconButton
        ref={edit}
        size="sm"
        label={t("queue.edit")}
        icon={<Pencil />}
        aria-disabled={busy}
        onClick={() => !busy && setWords(content)}
      />
      <IconButton
        size="sm"
        label={t("queue.remove")}
        icon={<X />}
        aria-disabled={busy}
        onClick={() => !busy && action.mutate(remove)}
      />
    </li>
  );
}

function Attached({ names }: { names: readonly string[] }) {
  return (
    <ul aria-label={t("queue.attached")} className="flex flex-wrap gap-x-3 text-sm text-ink-2">
      {names.map((name, at) => (
        // Two files can have the same name.
        <li key={at} className="flex max-w-full min-w-0 items-center gap-1">
          <Paperclip aria-hidden="true" className="size-3.5 shrink-0" />
          <span dir="auto" className="truncate">
            {showInvisible(name)}
          </span>
        </li>
      ))}
    </ul>
  );
}

interface FieldProps {
  words: string;
  onChange: (words: string) => void;
  onSave: () => void;
  onLeave: () => void;
}

function Field({ words, onChange, onSave, onLeave }: FieldProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(field.current.value.length, field.current.value.length);
  }, []);

  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>): void {
    if (isComposing(event)) return;
    if (event.key === "Escape") onLeave();
    sendOnEnter(event, onSave);
  }

  return (
    <Textarea
      ref={field}
      value={words}
      aria-label={t("queue.field")}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={onKeyDown}
      className="max-h-[30dvh] min-h-11 text-md"
    />
  );
}
