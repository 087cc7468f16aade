import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import type { ChatStore } from "../stream/chat-store";
import { useChatStatus } from "../use-chat-store";
import { HeldMessages } from "../outbox/held-messages";
import { t } from "./queue-text";
import { QueuedRow } from "./queued-row";
import { changeWaiting, removeWaiting, sendNow, waitingQuery } from "./waiting";

interface QueueProps {
  chatId: string;
  store: ChatStore;
}

/** The messages that wait until the answer is done or the network is back, above the field in which they were written. */
export function Queue({ chatId, store }: QueueProps) {
  const titleId = useId();
  const queries = useQueryClient();
  const query = waitingQuery(chatId);
  const { data } = useQuery(query);
  const waiting = data?.messages ?? [];
  const { phase } = useChatStatus(store);
  const reload = () => queries.invalidateQueries({ queryKey: query.queryKey });
  return (
    <>
      <p role="status" className="sr-only">
        {waiting.length > 0 &&
          [t("queue.count", { n: waiting.length }), data?.hindrance].filter(Boolean).join(". ")}
      </p>
      {waiting.length > 0 && (
        <section
          aria-labelledby={titleId}
          className="mb-2.5 rounded-lg border border-line bg-surface py-1.5 pr-1.5 pl-4 text-md"
        >
          <h3 id={titleId} className="py-1 text-sm font-normal text-ink-2">
            {data?.hindrance ?? t(phase === "idle" ? "queue.paused" : "queue.title")}
          </h3>
          <ol className="max-h-[30dvh] space-y-1.5 overflow-y-auto">
            {waiting.map((message) => (
              <QueuedRow
                key={message.id}
                {...message}
                change={(words) => changeWaiting(chatId, message.id, words)}
                remove={() => removeWaiting(chatId, message.id)}
                send={() => sendNow(chatId, message.id)}
                onChanged={reload}
              />
            ))}
          </ol>
        </section>
      )}
      <HeldMessages chatId={chatId} />
    </>
  );
}
