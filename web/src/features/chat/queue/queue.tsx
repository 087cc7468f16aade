import { useQuery, useQueryClient } from "@tanstack/react-query";
import { t } from "@/lib/later-texts";
import { useChatStatus } from "../chat-context";
import { HeldMessages } from "../outbox/held-messages";
import { changeQueued, queueQuery, removeQueued, sendNow } from "../queries";
import { PendingMessageList } from "./pending-message-list";
import { QueuedRow } from "./queued-row";
import type { ChatStore } from "../stream/chat-store";

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
