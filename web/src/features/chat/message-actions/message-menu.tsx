import { Copy, Pencil, RotateCcw, Square, TextSelect, Volume2 } from "lucide-react";
import { type RefObject, useEffect, useRef, useState } from "react";
import { t } from "@/lib/later-texts";
import { ActionItem, ActionList } from "@/ui/action-list";
import { Sheet } from "@/ui/sheet";
import { toast } from "@/ui/toast";
import { useChatStatus } from "../chat-context";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { textOf } from "../stream/message";
import { watchLongPress } from "./long-press";
import { canReadAloud, readAloud, stopReading, useIsReading } from "./read-aloud";

interface MessageMenuProps {
  /** Element around the messages. */
  rows: RefObject<HTMLElement | null>;
  store: ChatStore;
  onTurn: (turn: TurnRequest) => Promise<boolean>;
}

/** Actions of the message that was pressed for long, in a sheet. */
export function MessageMenu({ rows, store, onTurn }: MessageMenuProps) {
  const [pressed, setPressed] = useState<HTMLElement | null>(null);
  const { phase } = useChatStatus(store);
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => (rows.current ? watchLongPress(rows.current, setPressed) : undefined), [rows]);
  const id = pressed?.dataset["message"];
  const isReading = useIsReading(id ?? "");
  // Nothing could stop it in another chat.
  useEffect(() => stopReading, []);
  const message = id === undefined ? undefined : store.message(id);
  if (!pressed || id === undefined || !message) return null;
  const text = textOf(message);
  const canChange = phase === "idle" && store.isStored(id);
  const andClose = (action: () => void) => () => {
    // The dialog's own close returns the focus, which an action may then move.
    list.current?.closest("dialog")?.close();
    action();
  };
  return (
    <Sheet title={t("steering.actions")} onClose={() => setPressed(null)}>
      <div ref={list} className="-mx-2.5 -my-2">
        <ActionList>
          {text !== "" && (
            <ActionItem
              icon={<Copy />}
              label={t("steering.copy")}
              onClick={andClose(() => void copy(text))}
            />
          )}
          {canChange && message.role === "user" && (
            <ActionItem
              icon={<Pencil />}
              label={t("steering.edit")}
              onClick={andClose(() => store.editing.set(id))}
            />
          )}
          {canChange && message.role === "assistant" && (
            <ActionItem
              icon={<RotateCcw />}
              label={t("steering.again")}
              onClick={andClose(() => void onTurn({ replaces: id }))}
            />
          )}
          {canReadAloud && message.role === "assistant" && text !== "" && (
            <ActionItem
              icon={isReading ? <Square /> : <Volume2 />}
              label={t(isReading ? "steering.read.stop" : "steering.read")}
              onClick={andClose(() => (isReading ? stopReading() : readAloud(id, text)))}
            />
          )}
          <ActionItem
            icon={<TextSelect />}
            label={t("steering.select")}
            onClick={andClose(() => selectMessage(pressed))}
          />
        </ActionList>
      </div>
    </Sheet>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast({ title: t("chat.copied"), tone: "ok" });
  } catch {
    toast({ title: t("chat.copyFailed"), tone: "err" });
  }
}

/** Selects what a message says, without its heading and its actions. */
function selectMessage(row: HTMLElement): void {
  const [heading, foot] = [row.firstElementChild, row.lastElementChild];
  if (!heading || !foot) return;
  const range = document.createRange();
  range.setStartAfter(heading);
  range.setEndBefore(foot);
  const selection = getSelection();
  selection?.removeAllRanges();
  selection?.addRange(range);
}
