import { useQuery } from "@tanstack/react-query";
import { ChevronDown, Gauge, RotateCcw } from "lucide-react";
import { type ReactNode, Suspense, use } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/later-texts";
import { IconButton, iconButtonClass } from "@/ui/button";
import { Popover } from "@/ui/popover";
import { ChatId, useChatStatus } from "../chat-context";
import { modelsQuery, useChatModel } from "../queries";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { type ChatMessage, textOf } from "../stream/message";
import { BranchSwitcher } from "./branch-switcher";
import { ReadAloudButton } from "./read-aloud-button";

const AnswerUsage = lazyPart(async () => (await import("../transcript/answer-usage")).AnswerUsage);
const RegenerateWith = lazyPart(async () => (await import("../composer/regenerate-with")).RegenerateWith);

interface AnswerActionsProps {
  message: ChatMessage;
  store: ChatStore;
  isLast: boolean;
  onTurn: (turn: TurnRequest) => Promise<boolean>;
}

/** Further actions of an answer. The retry button of the newest one stands before them. */
export function AnswerActions({ message, store, isLast, onTurn }: AnswerActionsProps) {
  const { id } = message;
  const { phase, ids } = useChatStatus(store);
  const isStored = store.isStored(id);
  const isNewest = isLast || id === ids.at(-1);
  return (
    <>
      {isStored && !isNewest && (
        <IconButton
          size="sm"
          label={t("steering.again")}
          icon={<RotateCcw />}
          aria-disabled={phase !== "idle"}
          onClick={() => void onTurn({ replaces: id })}
        />
      )}
      {isStored && isLast && (
        <RegenerateButton
          writer={message.model}
          onRegenerate={(model) => void onTurn({ replaces: id, model })}
        />
      )}
      <UsageButton message={message} />
      <ReadAloudButton id={id} text={textOf(message)} />
      {isStored && <BranchSwitcher id={id} store={store} />}
      <Writer model={message.model} />
    </>
  );
}

interface RegenerateButtonProps {
  writer: string | null;
  onRegenerate: (model: string) => void;
}

/** Button that lets another model write the answer again, if there are several. */
function RegenerateButton({ writer, onRegenerate }: RegenerateButtonProps) {
  const { data } = useQuery(modelsQuery);
  if (data === undefined || data.models.length <= 1) return null;
  return (
    <LoadingPopover
      trigger={<ChevronDown aria-hidden="true" />}
      label={t("steering.againWith")}
      triggerClassName="-ml-1.5 w-5! touch:ml-0 touch:w-11!"
      className="w-[min(340px,calc(100vw-20px))]"
    >
      <RegenerateWith writer={writer} onRegenerate={onRegenerate} />
    </LoadingPopover>
  );
}

/** Button that loads and shows the cost of the answer. */
function UsageButton({ message }: { message: ChatMessage }) {
  return (
    <LoadingPopover
      trigger={<Gauge aria-hidden="true" />}
      label={t("chat.usage")}
      className="w-[min(280px,calc(100vw-20px))]"
    >
      <AnswerUsage messageId={message.id} model={message.model} />
    </LoadingPopover>
  );
}

interface LoadingPopoverProps {
  trigger: ReactNode;
  label: string;
  triggerClassName?: string;
  className: string;
  children: ReactNode;
}

/** Action that opens a popover above the button, whose content is loaded then. */
function LoadingPopover({ trigger, label, triggerClassName = "", className, children }: LoadingPopoverProps) {
  return (
    <Popover
      trigger={trigger}
      triggerClassName={`${iconButtonClass({ size: "sm" })} ${triggerClassName}`}
      triggerLabel={label}
      label={label}
      side="top"
      align="start"
      className={className}
    >
      <Suspense fallback={<p className="p-3 text-md text-ink-2">{t("app.loading")}</p>}>{children}</Suspense>
    </Popover>
  );
}

/** Name of the model that wrote an answer, if the chat has another one now. */
function Writer({ model: id }: { model: string | null }) {
  const { loaded, model } = useChatModel(use(ChatId));
  const { data } = useQuery(modelsQuery);
  if (id === null || !loaded || model?.id === id) return null;
  const name = data?.models.find((one) => one.id === id)?.name ?? id.slice(id.indexOf("/") + 1);
  return (
    <span title={id} className="ml-2 max-w-48 truncate text-xs text-ink-2">
      <span className="sr-only">{t("steering.writer")} </span>
      {name}
    </span>
  );
}
