import { useQueryClient } from "@tanstack/react-query";
import { Pencil } from "lucide-react";
import { type KeyboardEvent, use, useEffect, useId, useRef } from "react";
import { useDraft } from "@/lib/drafts";
import { isComposing, sendOnEnter } from "@/lib/enter-key";
import { t } from "@/lib/later-texts";
import { CopyButton } from "@/markdown/copy-button";
import { Button, IconButton } from "@/ui/button";
import { Textarea } from "@/ui/field";
import { toast, toastFailure } from "@/ui/toast";
import { ChatId, useChatStatus } from "../chat-context";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { BranchSwitcher, undoEdit } from "./branch-switcher";

interface MessageActionsProps {
  id: string;
  store: ChatStore;
}

interface UserMessageActionsProps extends MessageActionsProps {
  text: string;
}

/** Actions of a user message: copy it, edit it, or switch to another version. */
export function UserMessageActions({ id, text, store }: UserMessageActionsProps) {
  const { phase } = useChatStatus(store);
  // A message that is being sent has no stored id yet.
  if (!store.isStored(id)) return null;
  return (
    <>
      <BranchSwitcher id={id} store={store} />
      {text !== "" && <CopyButton text={text} label={t("steering.copy")} />}
      <IconButton
        size="sm"
        data-edit=""
        label={t("steering.edit")}
        icon={<Pencil />}
        aria-disabled={phase !== "idle"}
        onClick={() => phase === "idle" && store.editing.set(id)}
      />
    </>
  );
}

interface EditMessageFormProps {
  id: string;
  text: string;
  store: ChatStore;
  onTurn: (turn: TurnRequest) => Promise<boolean>;
}

/** Form to edit a sent message. Sending starts a new branch and keeps the existing one. */
export function EditMessageForm({ id, text, store, onTurn }: EditMessageFormProps) {
  const [draft, setDraft] = useDraft(`edit/${id}`, text);
  const field = useRef<HTMLTextAreaElement>(null);
  const hintId = useId();
  const chatId = use(ChatId);
  const queries = useQueryClient();
  useEffect(() => {
    const input = field.current;
    input?.focus();
    input?.setSelectionRange(input.value.length, input.value.length);
  }, []);

  function cancel(): void {
    const row = field.current?.closest("article");
    setDraft(text);
    store.editing.set(null);
    // The edit button exists again in the next frame.
    requestAnimationFrame(() => row?.querySelector<HTMLElement>("[data-edit]")?.focus());
  }

  function send(): void {
    if (draft.trim() === "" || store.status().phase !== "idle") return;
    store.editing.set(null);
    void onTurn({ message: draft, replaces: id }).then((accepted) => {
      if (!accepted) return store.editing.set(id);
      setDraft(text);
      toast({ title: t("steering.edited"), action: { label: t("history.undo"), run: undo } });
    });
  }

  function undo(): void {
    undoEdit(id, { chatId, store, queries }).catch((error: unknown) =>
      toastFailure(t("steering.switchFailed"), error),
    );
  }

  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>): void {
    if (isComposing(event)) return;
    if (event.key === "Escape") cancel();
    sendOnEnter(event, send);
  }

  return (
    <div className="grid w-full grid-cols-[minmax(0,1fr)] gap-2">
      <Textarea
        ref={field}
        value={draft}
        aria-label={t("steering.field")}
        aria-describedby={hintId}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={onKeyDown}
        className="max-h-[40dvh] min-h-11 text-md"
      />
      <p id={hintId} className="text-sm text-ink-2">
        {t("steering.about")}
      </p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button size="sm" variant="quiet" onClick={cancel}>
          {t("steering.cancel")}
        </Button>
        <Button size="sm" variant="primary" disabled={draft.trim() === ""} onClick={send}>
          {t("steering.send")}
        </Button>
      </div>
    </div>
  );
}
