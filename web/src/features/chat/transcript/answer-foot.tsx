import { CircleAlert, RotateCcw, Square, Unplug } from "lucide-react";
import type { ReactNode } from "react";
import { cn } from "@/lib/cn";
import { quoted } from "@/lib/error-text";
import { t, tRich } from "@/lib/t";
import { CopyButton } from "@/markdown/copy-button";
import { Button, IconButton } from "@/ui/button";
import { type ChatMessage, textOf } from "../stream/message";
import { TimeOfDay } from "../time";

interface AnswerFootProps {
  message: ChatMessage;
  /** Retries the answer; absent if unavailable. */
  onRetry?: () => void;
  /** True for the newest answer, whose buttons are always visible. */
  isLast: boolean;
  /** Continues an incomplete answer. */
  onContinue?: () => void;
  /** Further actions. */
  children: ReactNode;
}

/** Footer of an answer: how it ended, its time, and its actions. */
export function AnswerFoot({ message, isLast, onRetry, onContinue, children }: AnswerFootProps) {
  const text = textOf(message);
  const failed = message.status === "failed";
  return (
    <>
      {failed && (
        <Failure reason={message.error}>
          {onContinue && <Continue onContinue={onContinue} />}
          {onRetry && (
            <Button size="sm" onClick={onRetry}>
              {t("chat.retry")}
            </Button>
          )}
        </Failure>
      )}
      <div
        className={cn(
          "-mt-1.5 -ml-2 flex flex-wrap items-center gap-0.5 text-ink-3",
          !isLast && "quiet-actions",
        )}
      >
        {text !== "" && <CopyButton text={text} label={t("chat.copy")} />}
        {onRetry && !failed && (
          <IconButton size="sm" label={t("chat.retry")} icon={<RotateCcw />} onClick={onRetry} />
        )}
        {children}
        <span className="ml-2 flex flex-wrap items-center gap-2.5">
          <TimeOfDay moment={message.createdAt} />
          <Ending status={message.status} />
          {onContinue && !failed && <Continue onContinue={onContinue} />}
        </span>
      </div>
    </>
  );
}

function Continue({ onContinue }: { onContinue: () => void }) {
  return (
    <Button size="sm" onClick={onContinue}>
      {t("chat.continue")}
    </Button>
  );
}

function Failure({ reason, children }: { reason: string | null; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-md bg-err-soft px-3.5 py-2.5 text-md text-err">
      <CircleAlert aria-hidden="true" className="size-4 shrink-0" />
      <p className="min-w-0 flex-1 basis-48 wrap-anywhere">
        {reason === null ? t("chat.failed.unknown") : tRich("chat.failed.because", { reason, q: quoted })}
      </p>
      {children}
    </div>
  );
}

function Ending({ status }: { status: ChatMessage["status"] }) {
  if (status !== "length" && status !== "stopped" && status !== "interrupted") return null;
  const Icon = status === "interrupted" ? Unplug : Square;
  return (
    <span className="inline-flex items-center gap-1.5 text-xs text-ink-2">
      <Icon aria-hidden="true" className="size-3" />
      {t(`chat.${status}`)}
    </span>
  );
}
