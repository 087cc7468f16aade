import { memo, Suspense, useCallback, useSyncExternalStore } from "react";
import { useLanguage } from "@/lib/language";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { drawable } from "@/markdown/drawable-text";
import { useMessage } from "../chat-context";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { attachmentsOf, type ChatMessage, type Part, textOf } from "../stream/message";
import { TimeOfDay } from "../time";
import { AnswerFoot } from "./answer-foot";
import { AnswerParts } from "./answer-parts";

// The text is drawn first, the actions below it follow.
const loadMessageActions = () => import("../message-actions/message-actions");
const UserMessageActions = lazyPart(async () => (await loadMessageActions()).UserMessageActions);
const AnswerActions = lazyPart(async () => (await import("../message-actions/answer-actions")).AnswerActions);
const EditMessageForm = lazyPart(async () => (await loadMessageActions()).EditMessageForm);

/** Few answers are questions. */
const ReplyOptions = lazyPart(async () => (await import("./reply-options")).ReplyOptions);

interface MessageRowProps {
  id: string;
  store: ChatStore;
  /** The message is the newest one, and no turn is running. */
  isLast: boolean;
  onTurn: (turn: TurnRequest) => Promise<boolean>;
}

/** Most messages have no attachments. */
const SentAttachments = lazyPart(
  async () => (await import("../mcp-context/sent-attachments")).SentAttachments,
);

/** One message, subscribed on its own: a growing answer redraws its row only. */
export const MessageRow = memo(({ id, store, isLast, onTurn }: MessageRowProps) => {
  const message = useMessage(store, id);
  useLanguage();
  if (!message) return null;
  if (message.role === "user") return <UserMessage message={message} store={store} onTurn={onTurn} />;
  if (message.status === "streaming" && !message.parts.some(isVisible)) return null;
  const foot = isLast ? latestAnswerActions(message, store, onTurn) : {};
  return (
    <article
      data-role="assistant"
      data-message={id}
      aria-label={t("chat.assistantSaid")}
      className="message grid grid-cols-[minmax(0,1fr)] gap-3.5"
    >
      <h3 className="sr-only">{t("chat.assistantSaid")}</h3>
      <AnswerParts message={message} />
      {isLast && message.parts.some(({ type }) => type === "reply-options") && (
        <Suspense>
          <ReplyOptions message={message} />
        </Suspense>
      )}
      {message.status !== "streaming" && (
        <AnswerFoot message={message} isLast={isLast} {...foot}>
          <Suspense>
            <AnswerActions message={message} store={store} isLast={isLast} onTurn={onTurn} />
          </Suspense>
        </AnswerFoot>
      )}
    </article>
  );
});
MessageRow.displayName = "MessageRow";

/** A user message, or the form that edits it. */
function UserMessage({
  message,
  store,
  onTurn,
}: Omit<MessageRowProps, "id" | "isLast"> & { message: ChatMessage }) {
  const { id } = message;
  const subscribe = useCallback((listener: () => void) => store.subscribeTo(id)(listener), [store, id]);
  const editing = useSyncExternalStore(subscribe, () => store.editing.isEditing(id));
  const text = textOf(message);
  const attached = attachmentsOf(message);
  return (
    <article
      data-role="user"
      data-message={id}
      aria-label={t("chat.youSaid")}
      className="message flex flex-col items-end gap-1"
    >
      <h3 className="sr-only">{t("chat.youSaid")}</h3>
      {attached.length > 0 && (
        <Suspense>
          <SentAttachments parts={attached} />
        </Suspense>
      )}
      {editing ? (
        <Suspense>
          <EditMessageForm id={id} text={text} store={store} onTurn={onTurn} />
        </Suspense>
      ) : (
        <>
          <p
            dir="auto"
            className="max-w-[85%] rounded-[18px_18px_6px_18px] bg-accent-soft px-4 py-[9px] whitespace-pre-wrap wrap-anywhere"
          >
            {drawable(text)}
          </p>
          <div className="quiet-actions -my-[7px] flex min-h-[30px] text-ink-3 items-center gap-1 touch:-my-[3px] touch:min-h-11">
            <Suspense>
              <UserMessageActions id={id} text={text} store={store} />
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

/** Returns the actions of the newest answer: retry, and continue if it is incomplete. */
function latestAnswerActions(message: ChatMessage, store: ChatStore, onTurn: MessageRowProps["onTurn"]) {
  const { id, status } = message;
  if (!store.isStored(id)) {
    const userMessage = userMessageBefore(store, id);
    return userMessage === undefined
      ? {}
      : {
          onRetry: () =>
            void onTurn({ message: textOf(userMessage), attachments: attachmentsOf(userMessage) }),
        };
  }
  const isIncomplete = status !== "done" && message.parts.some(isVisible);
  return {
    onRetry: () => void onTurn({ replaces: id }),
    ...(isIncomplete && { onContinue: () => void onTurn({ continues: id }) }),
  };
}

/** Returns the user message that an answer belongs to. */
function userMessageBefore(store: ChatStore, id: string): ChatMessage | undefined {
  const { ids } = store.status();
  const before = ids[ids.indexOf(id) - 1];
  const userMessage = before === undefined ? undefined : store.message(before);
  return userMessage?.role === "user" ? userMessage : undefined;
}
