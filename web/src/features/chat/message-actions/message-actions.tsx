import { Pencil, RotateCcw } from "lucide-react";
import { t } from "@/lib/later-texts";
import { IconButton } from "@/ui/button";
import { useChatStatus } from "../chat-context";
import { BranchSwitcher } from "./branch-switcher";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";

interface UserMessageActionsProps {
  id: string;
  store: ChatStore;
}

/** Actions of a user message: edit it, or switch to another version. */
export function UserMessageActions({ id, store }: UserMessageActionsProps) {
  const { phase } = useChatStatus(store);
  // A message that is being sent has no stored id yet.
  if (!store.isStored(id)) return null;
  return (
    <>
      <BranchSwitcher id={id} store={store} />
      <IconButton
        size="sm"
        className="text-ink-3"
        data-edit=""
        label={t("steering.edit")}
        icon={<Pencil />}
        aria-disabled={phase !== "idle"}
        onClick={() => phase === "idle" && store.editing.set(id)}
      />
    </>
  );
}

interface AnswerActionsProps extends UserMessageActionsProps {
  isLast: boolean;
  onTurn: (turn: TurnRequest) => Promise<boolean>;
}

/** Actions of an answer. The retry button of the newest one is in its footer instead. */
export function AnswerActions({ id, store, isLast, onTurn }: AnswerActionsProps) {
  const { phase, ids } = useChatStatus(store);
  if (!store.isStored(id)) return null;
  const isNewest = isLast || id === ids.at(-1);
  return (
    <>
      {!isNewest && (
        <IconButton
          size="sm"
          label={t("steering.again")}
          icon={<RotateCcw />}
          aria-disabled={phase !== "idle"}
          onClick={() => void onTurn({ replaces: id })}
        />
      )}
      <BranchSwitcher id={id} store={store} />
    </>
  );
}
