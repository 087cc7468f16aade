import { useSyncExternalStore } from "react";
import { t } from "@/lib/later-texts";
import { QueuedRow } from "../queue/queued-row";
import { PendingMessageList } from "../queue/pending-message-list";
import { changeHeld, type HeldMessage, readHeld, removeHeld, subscribeHeld } from "./outbox";

/** Messages of a chat that wait for the network, above the message field. */
export function HeldMessages({ chatId }: { chatId: string }) {
  const held = useSyncExternalStore(subscribeHeld, () => readHeld(chatId));
  const refusal = held[0]?.refusal;
  const count = held.length > 0 && t("queue.held.count", { n: held.length });
  return (
    <PendingMessageList
      title={refusal === undefined ? t("queue.held") : t("queue.held.refused", { reason: refusal })}
      announcement={[count, refusal].filter(Boolean).join(". ")}
    >
      {held.map((message) => (
        <HeldRow key={message.id} chatId={chatId} held={message} />
      ))}
    </PendingMessageList>
  );
}

function HeldRow({ chatId, held }: { chatId: string; held: HeldMessage }) {
  const { id, message, attachments, refusal } = held;
  const change = (words: string) => Promise.resolve(changeHeld(chatId, id, words));
  return (
    <QueuedRow
      content={message}
      attached={attachments.map((part) =>
        part.type === "file" ? (part.filename ?? "") : part.title || part.name,
      )}
      change={change}
      remove={() => Promise.resolve(removeHeld(chatId, id))}
      {...(refusal !== undefined && { send: () => change(message) })}
    />
  );
}
