import { type KeyboardEvent, useEffect, useId, useRef } from "react";
import { isComposing, isSending } from "@/lib/is-composing";
import { useDraft } from "@/lib/drafts";
import { Button } from "@/ui/button";
import { Textarea } from "@/ui/field";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { t } from "./steering-text";

interface EditWordsProps {
  id: string;
  text: string;
  store: ChatStore;
  onTurn: (turn: TurnRequest) => Promise<boolean>;
}

/** The person's words in a field. Sent, they begin another branch; the ones before stay on theirs. */
export function EditWords({ id, text, store, onTurn }: EditWordsProps) {
  const [words, setWords] = useDraft(`edit/${id}`, text);
  const field = useRef<HTMLTextAreaElement>(null);
  const aboutId = useId();
  useEffect(() => {
    const own = field.current;
    own?.focus();
    own?.setSelectionRange(own.value.length, own.value.length);
  }, []);

  function leave(): void {
    const row = field.current?.closest("article");
    setWords(text);
    store.edited.set(null);
    // What the field stood in the place of is there again with the next frame.
    requestAnimationFrame(() => row?.querySelector<HTMLElement>("[data-edit]")?.focus());
  }

  function send(): void {
    if (words.trim() === "" || store.status().phase !== "idle") return;
    store.edited.set(null);
    void onTurn({ message: words, insteadOf: id }).then((taken) => {
      if (taken) setWords(text);
      else store.edited.set(id);
    });
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (isComposing(event)) return;
    if (event.key === "Escape") leave();
    if (!isSending(event)) return;
    event.preventDefault();
    send();
  }

  return (
    <div className="grid w-full grid-cols-[minmax(0,1fr)] gap-2">
      <Textarea
        ref={field}
        value={words}
        aria-label={t("steering.field")}
        aria-describedby={aboutId}
        onChange={(event) => setWords(event.target.value)}
        onKeyDown={onKeyDown}
        className="max-h-[40dvh] min-h-11 text-md"
      />
      <p id={aboutId} className="text-sm text-ink-2">
        {t("steering.about")}
      </p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button size="sm" variant="quiet" onClick={leave}>
          {t("steering.cancel")}
        </Button>
        <Button size="sm" variant="primary" disabled={words.trim() === ""} onClick={send}>
          {t("steering.send")}
        </Button>
      </div>
    </div>
  );
}
