import { Pencil, RotateCcw } from "lucide-react";
import { IconButton } from "@/ui/button";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { useChatStatus } from "../use-chat-store";
import { t } from "./steering-text";
import { Switcher } from "./switcher";

interface ActionsProps {
  id: string;
  store: ChatStore;
}

/** What can be done with the person's words: change them, or go to others that stood there. */
export function WordsActions({ id, store }: ActionsProps) {
  const { phase } = useChatStatus(store);
  // Words that are on their way have no name yet.
  if (!store.isStored(id)) return null;
  return (
    <>
      <Switcher id={id} store={store} />
      <IconButton
        size="sm"
        className="text-ink-3"
        data-edit=""
        label={t("steering.edit")}
        icon={<Pencil />}
        aria-disabled={phase !== "idle"}
        onClick={() => phase === "idle" && store.edited.set(id)}
      />
    </>
  );
}

interface AnswerActionsProps extends ActionsProps {
  isLast: boolean;
  onTurn: (turn: TurnRequest) => Promise<boolean>;
}

/** What can be done with an answer; the newest has its way to another one elsewhere. */
export function AnswerActions({ id, store, isLast, onTurn }: AnswerActionsProps) {
  const { phase, ids } = useChatStatus(store);
  if (!store.isStored(id)) return null;
  const wasLast = isLast || id === ids.at(-1);
  return (
    <>
      {!wasLast && (
        <IconButton
          size="sm"
          label={t("steering.again")}
          icon={<RotateCcw />}
          aria-disabled={phase !== "idle"}
          onClick={() => void onTurn({ insteadOf: id })}
        />
      )}
      <Switcher id={id} store={store} />
    </>
  );
}
