import { Check, ChevronDown } from "lucide-react";
import { formatDuration } from "@/lib/format";
import { t } from "@/lib/t";
import type { MessageStatus, ToolPart } from "../stream/message";
import { callState, hasImage } from "./call-state";

/** Fewer calls are shown as they are. */
const MIN_FOLDED_CALLS = 3;

/** Returns true if calls are shown as one line: all are done, and none has anything to look at. */
export function canFold(parts: readonly ToolPart[], messageStatus: MessageStatus): boolean {
  return (
    parts.length >= MIN_FOLDED_CALLS &&
    parts.every(
      (part) => callState(part, messageStatus) === "done" && part.app === undefined && !hasImage(part),
    )
  );
}

interface FoldedCallsProps {
  parts: readonly ToolPart[];
  isOpen: boolean;
  onToggle: () => void;
}

/** Button that stands for several finished calls and shows their cards. */
export function FoldedCalls({ parts, isOpen, onToggle }: FoldedCallsProps) {
  const took = parts.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  return (
    <button
      type="button"
      aria-expanded={isOpen}
      onClick={onToggle}
      className="inline-flex h-[34px] items-center gap-2 justify-self-start rounded-full border border-line bg-surface px-3 text-sm text-ink-2 tabular-nums transition-colors duration-150 hover:text-ink touch:h-11"
    >
      <Check aria-hidden="true" className="size-4 text-ok" />
      {t("chat.tool.folded", { n: parts.length, time: formatDuration(took) })}
      <ChevronDown
        aria-hidden="true"
        className={`size-4 transition-transform duration-150 ${isOpen ? "rotate-180" : ""}`}
      />
    </button>
  );
}
