import { useMutation } from "@tanstack/react-query";
import { RotateCw } from "lucide-react";
import { type ReactNode, Suspense, use, useMemo } from "react";
import { type AppHost, AppHostContext } from "@/components/tool-app/app-host";
import type { AppInput } from "@/components/tool-app/app-session";
import { ContentBlock } from "@/components/tool-result/content-block";
import { OutputView } from "@/components/tool-result/output-view";
import { TextBlock } from "@/components/tool-result/text-block";
import { fromToolOutput, ResultServer } from "@/components/tool-result/tool-output";
import { t } from "@/lib/later-texts";
import { lazyPart } from "@/lib/lazy-part";
import { showInvisible } from "@/lib/show-invisible";
import { CopyButton } from "@/markdown/copy-button";
import { Button } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import { useFocusHandover } from "@/ui/focus";
import { Approval } from "../approval/approval";
import { storeAppContext } from "../chat-backend";
import { ChatId, SendInChat } from "../chat-context";
import { cancelCall, respondToElicitation } from "../queries";
import type { MessageStatus, ToolPart, ToolTask } from "../stream/message";
import { argumentsText, callAsJson, type CallState, failureReason, shortResult } from "./call-state";

// Few calls ask for values or have an app.
const Elicitation = lazyPart(async () => (await import("@/components/elicitation/elicitation")).Elicitation);
const ToolApp = lazyPart(async () => (await import("@/components/tool-app/tool-app")).ToolApp);

interface CallDetailsProps {
  part: ToolPart;
  state: CallState;
  messageStatus: MessageStatus;
  /** True if the card is open. */
  open: boolean;
  /** True if the approval request is shown only in an open card. */
  isFolded: boolean;
}

/** What a call that runs, waits or failed shows below its row. */
export function CallDetails({ part, state, messageStatus, open, isFolded }: CallDetailsProps) {
  const chatId = use(ChatId);
  const { approval, elicitations, task } = part;
  return (
    <>
      {state === "running" && task !== undefined && <RunningTask part={part} task={task} />}
      {state === "waiting" && approval !== undefined && (!isFolded || open) && (
        <Approval part={part} approval={approval} />
      )}
      {state === "waiting" &&
        elicitations?.map(({ id, request }) => (
          <Suspense key={id}>
            <Elicitation
              server={part.serverName ?? ""}
              request={request}
              onAnswer={(action, content) => respondToElicitation(chatId, id, action, content)}
            />
          </Suspense>
        ))}
      {state === "failed" && (
        <FailedCall part={part} showsReason={!open} isEnded={messageStatus !== "streaming"} />
      )}
      {state === "unknown" && <UnknownCall part={part} />}
    </>
  );
}

interface RunningTaskProps {
  part: ToolPart;
  task: ToolTask;
}

/** State of a call that runs as an MCP task, with a button to cancel it. */
function RunningTask({ part, task }: RunningTaskProps) {
  const chatId = use(ChatId);
  // Keyboard users continue from the card.
  const panel = useFocusHandover<HTMLDivElement>();
  const cancel = useMutation({ mutationFn: () => cancelCall(chatId, part.toolCallId) });
  const server = part.serverName ?? "";
  // The call's end, which follows the response, removes this view.
  const isCancelling = cancel.status === "pending" || cancel.status === "success";
  return (
    <div
      ref={panel}
      className="flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line px-3.5 py-2.5 text-sm"
    >
      <div className="min-w-0 flex-1 basis-56">
        <p className="text-ink-2 wrap-anywhere">{t(task.asks ? "task.asks" : "task.running", { server })}</p>
        {task.message !== undefined && <p className="wrap-anywhere">{showInvisible(task.message)}</p>}
        <ErrorMessage error={cancel.error} />
      </div>
      <Button
        size="sm"
        aria-disabled={isCancelling}
        onClick={() => {
          if (!isCancelling) cancel.mutate();
        }}
      >
        {t(isCancelling ? "task.cancelling" : "task.cancel")}
      </Button>
    </div>
  );
}

/** Arguments of up to this many characters are repeated in the request for another call. */
const MAX_REPEATED_CHARS = 2_000;

interface FailedCallProps {
  part: ToolPart;
  /** Shows the reason here instead of in the opened card. */
  showsReason: boolean;
  /** True if the answer has ended; before that, the model may retry by itself. */
  isEnded: boolean;
}

/** Reason of a failed call, with a button to retry it. */
function FailedCall({ part, showsReason, isEnded }: FailedCallProps) {
  const sendMessage = use(SendInChat);
  const isInChat = use(ChatId) !== "";
  const { toolName: tool, serverName: server = "" } = part;
  const reason = showsReason ? failureReason(part) : "";
  const canRetry = isEnded && isInChat && server !== "";
  if (reason === "" && !canRetry) return null;
  return (
    <div className="flex flex-wrap items-start gap-x-3 gap-y-2 border-t border-line px-3.5 py-2.5">
      <p className="line-clamp-3 min-w-0 flex-[1_1_14rem] text-sm text-err wrap-anywhere">{reason}</p>
      {canRetry && (
        <Button
          size="sm"
          aria-label={t("steering.retry.label", { tool })}
          onClick={() => void sendMessage(retryWords(part, tool, server))}
        >
          <RotateCw aria-hidden="true" />
          {t("steering.retry")}
        </Button>
      )}
    </div>
  );
}

function retryWords({ input }: ToolPart, tool: string, server: string): string {
  const args = input === undefined ? "" : JSON.stringify(input);
  if (args === "" || args.length > MAX_REPEATED_CHARS)
    return t("steering.unknown.againWords", { tool, server });
  return t("steering.retry.words", { tool, server, args });
}

/**
 * Notice of a tool call with an unknown outcome. The call is never repeated automatically: the user has the outcome
 * checked, or the call repeated.
 */
function UnknownCall({ part }: { part: ToolPart }) {
  const sendMessage = use(SendInChat);
  const { toolName: tool, serverName: server = "" } = part;
  return (
    <div className="grid gap-2 border-t border-line px-3.5 py-3">
      <p className="text-sm text-ink-2">{t("steering.unknown.about")}</p>
      <div className="flex flex-wrap gap-2">
        <Button
          size="sm"
          onClick={() => void sendMessage(t("steering.unknown.checkWords", { tool, server }))}
        >
          {t("steering.unknown.check")}
        </Button>
        <Button
          size="sm"
          variant="quiet"
          onClick={() => void sendMessage(t("steering.unknown.againWords", { tool, server }))}
        >
          {t("steering.unknown.again")}
        </Button>
      </div>
    </div>
  );
}

/** What a closed card shows of a result: its images, or its short text. */
export function ResultPreview({ part }: { part: ToolPart }) {
  const images = part.output?.content.filter(({ type }) => type === "image") ?? [];
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2 px-3 pb-2.5 pl-[38px] text-sm text-ink-2 wrap-anywhere">
      {images.length === 0
        ? showInvisible(shortResult(part))
        : // Blocks of a result never change.
          images.map((block, index) => <ContentBlock key={index} block={block} />)}
    </div>
  );
}

/** Arguments and result of a tool call. */
export function ToolBody({ part, state }: { part: ToolPart; state: CallState }) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2.5 border-t border-line px-3.5 py-3">
      <Section
        name={t("chat.tool.arguments")}
        action={<CopyButton text={callAsJson(part)} label={t("chat.tool.copy")} />}
      >
        <TextBlock text={argumentsText(part)} />
      </Section>
      {part.output && (
        <Section name={t("result.title")}>
          <ResultServer value={part.serverName ?? ""}>
            <OutputView output={part.output} />
          </ResultServer>
        </Section>
      )}
      {part.errorText !== undefined && <p className="text-err wrap-anywhere">{part.errorText}</p>}
      {state === "running" && part.progress?.message !== undefined && (
        <p className="text-ink-2">{part.progress.message}</p>
      )}
    </div>
  );
}

interface SectionProps {
  name: string;
  action?: ReactNode;
  children: ReactNode;
}

function Section({ name, action, children }: SectionProps) {
  return (
    <section>
      <div className="mb-1 flex min-h-4 items-center justify-between">
        <h4 className="text-xs font-normal tracking-normal text-ink-2">{name}</h4>
        {action !== undefined && <span className="-my-2">{action}</span>}
      </div>
      {children}
    </section>
  );
}

/** MCP app of a tool call in the conversation. */
export function CallApp({ part, state }: { part: ToolPart; state: CallState }) {
  const { input: args, output, errorText: reason } = part;
  const over = state !== "running" && state !== "waiting" && state !== "writing";
  const input = useMemo((): AppInput => {
    if (output) return { arguments: args, result: fromToolOutput(output) };
    return { arguments: args, ...(over && { cancelled: reason ?? t("chat.tool.stopped") }) };
  }, [args, output, reason, over]);
  const chatId = use(ChatId);
  const sendMessage = use(SendInChat);
  const host = useMemo(
    (): AppHost => ({
      sendMessage,
      updateContext: (callId, context) => storeAppContext(chatId, callId, context),
    }),
    [chatId, sendMessage],
  );
  return (
    <AppHostContext value={host}>
      <ToolApp
        callId={part.toolCallId}
        serverName={part.serverName ?? ""}
        tool={part.toolName}
        input={input}
        output={output}
      />
    </AppHostContext>
  );
}
