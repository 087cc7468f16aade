import { useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useId, useSyncExternalStore } from "react";
import { t } from "@/lib/later-texts";
import { useChatStatus } from "../chat-context";
import { changeHeld, type HeldMessage, readHeld, removeHeld, subscribeHeld } from "../outbox/outbox";
import { queueQuery } from "../queries";
import { changeQueued, removeQueued, sendNow } from "./queue-commands";
import type { ChatStore } from "../stream/chat-store";
import { QueuedRow } from "./queued-row";

interface QueueProps {
  chatId: string;
  store: ChatStore;
}

/** Messages that wait for the end of the answer or for the network, above the message field. */
export function Queue({ chatId, store }: QueueProps) {
  const queries = useQueryClient();
  const query = queueQuery(chatId);
  const { data } = useQuery(query);
  const waiting = data?.messages ?? [];
  const { phase } = useChatStatus(store);
  const reload = () => queries.invalidateQueries({ queryKey: query.queryKey });
  const count = waiting.length > 0 && t("queue.count", { n: waiting.length });
  return (
    <>
      <PendingMessageList
        title={data?.hindrance ?? t(phase === "idle" ? "queue.paused" : "queue.title")}
        announcement={count ? [count, data?.hindrance].filter(Boolean).join(". ") : ""}
      >
        {waiting.map((message) => (
          <QueuedRow
            key={message.id}
            {...message}
            change={(words) => changeQueued(chatId, message.id, words)}
            remove={() => removeQueued(chatId, message.id)}
            send={() => sendNow(chatId, message.id)}
            onChanged={reload}
          />
        ))}
      </PendingMessageList>
      <HeldMessages chatId={chatId} />
    </>
  );
}

interface PendingMessageListProps {
  title: string;
  /** Announcement for screen readers on changes; empty if no message waits. */
  announcement: string;
  /** One row per message. */
  children: readonly ReactNode[];
}

/** List of waiting messages above the message field, hidden while it is empty. */
function PendingMessageList({ title, announcement, children }: PendingMessageListProps) {
  const titleId = useId();
  return (
    <>
      <p role="status" className="sr-only">
        {announcement}
      </p>
      {children.length > 0 && (
        <section
          aria-labelledby={titleId}
          className="mb-2.5 rounded-lg border border-line bg-surface py-1.5 pr-1.5 pl-4 text-md"
        >
          <h3 id={titleId} className="py-1 text-sm font-normal text-ink-2">
            {title}
          </h3>
          <ol className="max-h-[30dvh] space-y-1.5 overflow-y-auto">{children}</ol>
        </section>
      )}
    </>
  );
}

/** Messages of a chat that wait for the network, above the message field. */
function HeldMessages({ chatId }: { chatId: string }) {
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
