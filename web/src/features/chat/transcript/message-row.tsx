import { memo, Suspense, useCallback, useSyncExternalStore } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { drawable } from "@/markdown/drawable-text";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { attachmentsOf, type ChatMessage, type Part, textOf } from "../stream/message";
import { useMessage } from "../use-chat-store";
import { AnswerFoot } from "./answer-foot";
import { AnswerParts } from "./answer-parts";
import { TimeOfDay } from "./time-of-day";

// What is there to read comes first.
const WordsActions = lazyPart(async () => (await import("../steering/actions")).WordsActions);
const AnswerActions = lazyPart(async () => (await import("../steering/actions")).AnswerActions);
const EditWords = lazyPart(async () => (await import("../steering/edit-words")).EditWords);

interface MessageRowProps {
  id: string;
  store: ChatStore;
  /** It is the newest, and nothing runs. */
  isLast: boolean;
  onTurn: (turn: TurnRequest) => Promise<boolean>;
}

/** Few messages carry something. */
const SentAttachments = lazyPart(
  async () => (await import("../mcp-context/sent-attachments")).SentAttachments,
);

/** One message. It alone is drawn again when it grows. */
export const MessageRow = memo(({ id, store, isLast, onTurn }: MessageRowProps) => {
  const message = useMessage(store, id);
  if (!message) return null;
  if (message.role === "user") return <Words message={message} store={store} onTurn={onTurn} />;
  if (message.status === "streaming" && !message.parts.some(isVisible)) return null;
  const foot = isLast ? lastFoot(message, store, onTurn) : {};
  return (
    <article
      data-role="assistant"
      data-message={id}
      aria-label={t("chat.assistantSaid")}
      className="mb-7 grid grid-cols-[minmax(0,1fr)] gap-3.5"
    >
      <h3 className="sr-only">{t("chat.assistantSaid")}</h3>
      <AnswerParts message={message} />
      {message.status !== "streaming" && (
        <AnswerFoot message={message} {...foot}>
          <Suspense>
            <AnswerActions id={id} store={store} isLast={isLast} onTurn={onTurn} />
          </Suspense>
        </AnswerFoot>
      )}
    </article>
  );
});
MessageRow.displayName = "MessageRow";

/** The person's own words, or a field in which they become others. */
function Words({
  message,
  store,
  onTurn,
}: Omit<MessageRowProps, "id" | "isLast"> & { message: ChatMessage }) {
  const { id } = message;
  const subscribe = useCallback((listener: () => void) => store.subscribeTo(id)(listener), [store, id]);
  const editing = useSyncExternalStore(subscribe, () => store.edited.is(id));
  const text = textOf(message);
  const attached = attachmentsOf(message);
  return (
    <article
      data-role="user"
      data-message={id}
      aria-label={t("chat.youSaid")}
      className="mb-7 flex flex-col items-end gap-1"
    >
      <h3 className="sr-only">{t("chat.youSaid")}</h3>
      {attached.length > 0 && (
        <Suspense>
          <SentAttachments parts={attached} />
        </Suspense>
      )}
      {editing ? (
        <Suspense>
          <EditWords id={id} text={text} store={store} onTurn={onTurn} />
        </Suspense>
      ) : (
        <>
          <p
            dir="auto"
            className="max-w-[85%] rounded-[18px_18px_6px_18px] bg-accent-soft px-4 py-[9px] whitespace-pre-wrap wrap-anywhere"
          >
            {drawable(text)}
          </p>
          <div className="-my-[7px] flex min-h-[30px] items-center gap-1 touch:-my-[3px] touch:min-h-11">
            <Suspense>
              <WordsActions id={id} store={store} />
            </Suspense>
            <TimeOfDay moment={message.createdAt} />
          </div>
        </>
      )}
    </article>
  );
}

function isVisible(part: Part): boolean {
  return part.type === "text" || part.type === "reasoning" ? part.text !== "" : part.type !== "step-start";
}

/** What can be done with the newest answer: have it anew, or have more of one that broke off. */
function lastFoot(message: ChatMessage, store: ChatStore, onTurn: MessageRowProps["onTurn"]) {
  const { id, status } = message;
  if (!store.isStored(id)) {
    const question = questionBefore(store, id);
    return question === undefined
      ? {}
      : { onRetry: () => void onTurn({ message: textOf(question), attachments: attachmentsOf(question) }) };
  }
  const brokeOff = status !== "done" && message.parts.some(isVisible);
  return {
    onRetry: () => void onTurn({ insteadOf: id }),
    ...(brokeOff && { onContinue: () => void onTurn({ goesOnWith: id }) }),
  };
}

/** What the message answers. */
function questionBefore(store: ChatStore, id: string): ChatMessage | undefined {
  const { ids } = store.status();
  const before = ids[ids.indexOf(id) - 1];
  const question = before === undefined ? undefined : store.message(before);
  return question?.role === "user" ? question : undefined;
}
