import { useId, useSyncExternalStore } from "react";
import { t } from "../queue/queue-text";
import { QueuedRow } from "../queue/queued-row";
import { changeHeld, type HeldMessage, readHeld, removeHeld, subscribeHeld } from "./outbox";

/** The messages of a chat that wait for a network, above the field in which they were written. */
export function HeldMessages({ chatId }: { chatId: string }) {
  const titleId = useId();
  const held = useSyncExternalStore(subscribeHeld, () => readHeld(chatId));
  const refusal = held[0]?.refusal;
  return (
    <>
      <p role="status" className="sr-only">
        {held.length > 0 && [t("queue.held.count", { n: held.length }), refusal].filter(Boolean).join(". ")}
      </p>
      {held.length > 0 && (
        <section
          aria-labelledby={titleId}
          className="mb-2.5 rounded-lg border border-line bg-surface py-1.5 pr-1.5 pl-4 text-md"
        >
          <h3 id={titleId} className="py-1 text-sm font-normal text-ink-2">
            {refusal === undefined ? t("queue.held") : t("queue.held.refused", { reason: refusal })}
          </h3>
          <ol className="max-h-[30dvh] space-y-1.5 overflow-y-auto">
            {held.map((message) => (
              <HeldRow key={message.id} chatId={chatId} held={message} />
            ))}
          </ol>
        </section>
      )}
    </>
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
