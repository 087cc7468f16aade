import { lazy, memo, Suspense } from "react";
import { t } from "@/lib/t";
import type { ChatStore } from "../stream/chat-store";
import { type AttachmentPart, attachmentsOf, type ChatMessage, type Part, textOf } from "../stream/message";
import { useMessage } from "../use-chat-store";
import { AnswerFoot } from "./answer-foot";
import { AnswerParts } from "./answer-parts";
import { TimeOfDay } from "./time-of-day";

interface MessageRowProps {
  id: string;
  store: ChatStore;
  /** Whether its question can be asked again: it is the newest, and nothing runs. */
  canRetry: boolean;
  onRetry: (text: string, attachments: readonly AttachmentPart[]) => Promise<boolean>;
}

/** Few messages carry something. */
const SentAttachments = lazy(async () => ({
  default: (await import("../offers/sent-attachments")).SentAttachments,
}));

/** One message. It alone is drawn again when it grows. */
export const MessageRow = memo(({ id, store, canRetry, onRetry }: MessageRowProps) => {
  const message = useMessage(store, id);
  if (!message) return null;
  if (message.role === "user") {
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
        <p className="max-w-[85%] rounded-[18px_18px_6px_18px] bg-accent-soft px-4 py-[9px] whitespace-pre-wrap wrap-anywhere">
          {textOf(message)}
        </p>
        <TimeOfDay moment={message.createdAt} />
      </article>
    );
  }
  if (message.status === "streaming" && !message.parts.some(isVisible)) return null;
  const question = canRetry ? questionBefore(store, id) : undefined;
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
        <AnswerFoot
          message={message}
          onRetry={
            question === undefined ? undefined : () => void onRetry(textOf(question), attachmentsOf(question))
          }
        />
      )}
    </article>
  );
});
MessageRow.displayName = "MessageRow";

function isVisible(part: Part): boolean {
  return part.type === "text" || part.type === "reasoning" ? part.text !== "" : part.type !== "step-start";
}

/** What the message answers. */
function questionBefore(store: ChatStore, id: string): ChatMessage | undefined {
  const { ids } = store.status();
  const before = ids[ids.indexOf(id) - 1];
  const question = before === undefined ? undefined : store.message(before);
  return question?.role === "user" ? question : undefined;
}
