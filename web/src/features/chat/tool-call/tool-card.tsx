import { Activity as Pulse, ChevronDown, TriangleAlert } from "lucide-react";
import { memo, Suspense, use, useId, useState } from "react";
import { storedHeight } from "@/components/tool-app/app-height";
import { cn } from "@/lib/cn";
import { formatDuration } from "@/lib/format";
import { useLanguage } from "@/lib/language";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { Badge } from "@/ui/badge";
import { ServerIcon, ServerLetter } from "@/ui/server-icon";
import { ToolIconsOf } from "../chat-context";
import { ProgressBar } from "../progress-bar";
import type { MessageStatus, ToolPart } from "../stream/message";
import { argumentsLine, type CallState, callState, hasImage, isBuiltIn, shortResult } from "./call-state";
import { CallStateView, Elapsed } from "./call-state-view";

// The row is drawn first.
const loadDetails = () => import("./call-details");
const CallDetails = lazyPart(async () => (await loadDetails()).CallDetails);
const CallApp = lazyPart(async () => (await loadDetails()).CallApp);
const ToolBody = lazyPart(async () => (await loadDetails()).ToolBody);
const ResultPreview = lazyPart(async () => {
  // They take its place at once: a card that shrank first would move a reader at the end of the chat.
  await Promise.all([CallDetails.preload(), ToolBody.preload()]);
  return (await loadDetails()).ResultPreview;
});
export const loadApproval = () => import("../approval/approval");
const ClaimBadge = lazyPart(async () => (await loadApproval()).ClaimBadge);
const WaitingTime = lazyPart(async () => (await loadApproval()).WaitingTime);
const ChangedNote = lazyPart(async () => (await loadApproval()).ChangedNote);

interface ToolCardProps {
  part: ToolPart;
  messageStatus: MessageStatus;
  /** True if the card is part of a group, which asks for approval of all its calls. */
  isGrouped?: boolean;
}

/** Expandable row of a tool call. Memoized, because the text after it streams. */
export const ToolCard = memo(({ part, messageStatus, isGrouped = false }: ToolCardProps) => {
  useLanguage();
  const [open, setOpen] = useState(false);
  const bodyId = useId();
  const state = callState(part, messageStatus);
  // An app that started with the call stays when the call ends without a result.
  const [hasApp, setHasApp] = useState(false);
  const wantsApp = part.app !== undefined && (state === "running" || part.output !== undefined);
  if (wantsApp && !hasApp) setHasApp(true);
  const progress = state === "running" ? part.progress : undefined;
  const origin = isBuiltIn(part) ? t("chat.tool.builtIn") : part.serverName;
  const startedAt = part.task?.startedAt ?? part.startedAt;
  const isWaiting = state === "waiting" && part.approval !== undefined;
  const isChanged = part.approval?.before !== undefined || part.approval?.instructions !== undefined;
  // In a group, details stay folded so that all calls are visible.
  const isFolded = isGrouped && isWaiting && !isChanged;
  // The head of a group is amber for all its rows.
  const isAmber = isWaiting && !isGrouped;
  const serverName = part.serverName ?? "";
  const icons = use(ToolIconsOf)(serverName, part.toolName);
  return (
    <div
      data-tool={part.toolName}
      data-state={state}
      className={cn(
        "border bg-surface text-md",
        isGrouped
          ? "-mt-2 border-y-0 border-warn-dot [[data-tool]+&]:border-t [[data-tool]+&]:border-t-line"
          : cn("rounded-md", isAmber ? "border-warn-dot" : "border-line"),
      )}
    >
      <button
        type="button"
        aria-expanded={open}
        aria-controls={bodyId}
        onClick={() => setOpen(!open)}
        className={cn(
          "flex min-h-[42px] w-full items-center gap-2.5 rounded-md px-3 py-1.5 text-left touch:min-h-11",
          // However long the arguments are, what they are for stays in sight.
          isAmber && "sticky -top-5 z-10 rounded-b-none bg-warn-soft text-warn wide:-top-7",
          isFolded && open && "sticky top-[22px] z-5 rounded-none bg-surface wide:top-[14px]",
        )}
      >
        {isAmber ? (
          <TriangleAlert aria-hidden="true" className="size-4 shrink-0" />
        ) : (
          <ServerIcon
            connectionId={icons?.connectionId ?? ""}
            icons={icons?.icons}
            fallback={serverName === "" ? <Pulse /> : <ServerLetter name={serverName} />}
          />
        )}
        <span className="truncate font-medium whitespace-nowrap max-wide:flex-1">{part.toolName}</span>
        {origin !== undefined && origin !== "" && (
          <span className="max-w-40 max-wide:hidden">
            <Badge className="max-w-full">
              <span className="truncate leading-4">{origin}</span>
            </Badge>
          </span>
        )}
        <span className="min-w-0 flex-1 truncate font-mono text-[0.875em] text-ink-2 max-wide:hidden">
          {isAmber ? "" : (progress?.message ?? argumentsLine(part))}
        </span>
        {progress !== undefined && (
          <span className="flex min-w-12 flex-1 max-phone:hidden">
            <ProgressBar
              label={progress.message ?? part.toolName}
              value={progress.progress}
              total={progress.total !== undefined && progress.total > 0 ? progress.total : undefined}
            />
          </span>
        )}
        {/* On a phone the name needs the room; what is asked stands below. */}
        <span className={isAmber ? "max-phone:hidden" : "contents"}>
          <RowState part={part} state={state} isFolded={isFolded} isChanged={isWaiting && isChanged} />
        </span>
        <span className="text-sm whitespace-nowrap text-ink-3 tabular-nums">
          {state === "running" && startedAt !== undefined && <Elapsed since={startedAt} />}
          {part.durationMs !== undefined && formatDuration(part.durationMs)}
          {isAmber && part.approval !== undefined && (
            <Suspense fallback={<span aria-hidden="true">0:00</span>}>
              <WaitingTime approvals={[part.approval]} />
            </Suspense>
          )}
        </span>
        <ChevronDown
          aria-hidden="true"
          className={`size-4 shrink-0 transition-transform duration-150 ${open ? "rotate-180" : ""}`}
        />
      </button>
      {isFolded && argumentsLine(part) !== "" && (
        <p className="-mt-1.5 truncate pr-3 pb-2 pl-[38px] font-mono text-xs text-ink-2 wide:hidden">
          {argumentsLine(part)}
        </p>
      )}
      {(open || state !== "done") && (
        <Suspense>
          <CallDetails {...{ part, state, messageStatus, open, isFolded }} />
        </Suspense>
      )}
      {!open && !hasApp && state === "done" && (hasImage(part) || shortResult(part) !== "") && (
        <Suspense>
          <ResultPreview part={part} />
        </Suspense>
      )}
      {hasApp && (
        <Suspense fallback={<div style={{ height: storedHeight(part.toolCallId) }} />}>
          <CallApp part={part} state={state} />
        </Suspense>
      )}
      <div id={bodyId} hidden={!open}>
        {open && !isFolded && (
          <Suspense>
            <ToolBody part={part} state={state} />
          </Suspense>
        )}
      </div>
    </div>
  );
});
ToolCard.displayName = "ToolCard";

interface RowStateProps {
  part: ToolPart;
  state: CallState;
  isFolded: boolean;
  /** True if the call waits because its tool has changed. */
  isChanged: boolean;
}

/** State of a call in its row; where a group says that its calls wait, what the server claims about the tool. */
function RowState({ part, state, isFolded, isChanged }: RowStateProps) {
  if (isChanged)
    return (
      <Suspense>
        <ChangedNote />
      </Suspense>
    );
  if (!isFolded || part.approval === undefined) return <CallStateView state={state} />;
  return (
    <Suspense>
      <ClaimBadge approval={part.approval} />
    </Suspense>
  );
}
