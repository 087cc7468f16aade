import { Fragment, Suspense, useState } from "react";
import type { MessageStatus, ToolPart } from "../stream/message";
import { callState } from "./call-state";
import { canFold, FoldedCalls } from "./folded-calls";
import { loadApproval, ToolCard } from "./tool-card";
import { lazyPart } from "@/lib/lazy-part";

const ApprovalGroupHead = lazyPart(async () => (await loadApproval()).ApprovalGroupHead);
const ApprovalGroupFoot = lazyPart(async () => (await loadApproval()).ApprovalGroupFoot);

interface ToolGroupProps {
  parts: readonly ToolPart[];
  messageStatus: MessageStatus;
  /** True if no further call can follow. */
  isOver: boolean;
}

/**
 * Consecutive tool calls; finished ones are folded. Several that wait for approval form one group with one answer; a
 * tool that its server has changed is excluded, because its changes have to be read.
 *
 * The cards keep their positions in the tree, so that apps in them do not restart when a group appears or disappears.
 */
export function ToolGroup({ parts, messageStatus, isOver }: ToolGroupProps) {
  const [isOpen, setIsOpen] = useState(false);
  const isFoldable = isOver && canFold(parts, messageStatus);
  const waiting = parts.flatMap((part) => {
    const isWaiting = callState(part, messageStatus) === "waiting" && !isChanged(part);
    return isWaiting && part.approval !== undefined ? [part.approval] : [];
  });
  const isGroup = waiting.length > 1;
  const first = parts.findIndex(({ approval }) => approval !== undefined && approval === waiting[0]);
  const last = parts.findIndex(({ approval }) => approval !== undefined && approval === waiting.at(-1));
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2">
      {isFoldable && <FoldedCalls parts={parts} isOpen={isOpen} onToggle={() => setIsOpen(!isOpen)} />}
      {(isFoldable && !isOpen ? [] : parts).map((part, index) => (
        <Fragment key={part.toolCallId}>
          {isGroup && index === first && (
            <Suspense>
              <ApprovalGroupHead approvals={waiting} />
            </Suspense>
          )}
          <ToolCard
            part={part}
            messageStatus={messageStatus}
            isGrouped={isGroup && index >= first && index <= last}
          />
          {isGroup && index === last && (
            <Suspense>
              <ApprovalGroupFoot approvals={waiting} />
            </Suspense>
          )}
        </Fragment>
      ))}
    </div>
  );
}

function isChanged({ approval }: ToolPart): boolean {
  return approval?.before !== undefined || approval?.instructions !== undefined;
}
