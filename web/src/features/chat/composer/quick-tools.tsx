import { Activity as Pulse } from "lucide-react";
import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/t";
import { Badge } from "@/ui/badge";

/** Number of tools with a button above the composer. */
const QUICK_TOOL_COUNT = 3;

interface QuickToolsProps {
  tools: readonly AvailableTool[];
  onFill: (text: string) => void;
}

/** Buttons for the first tools. */
export function QuickTools({ tools, onFill }: QuickToolsProps) {
  if (tools.length === 0) return null;
  return (
    // On touch screens the buttons' touch area extends into the space around the row.
    <div className="relative mb-2.5 flex items-center short:hidden max-wide:[:has(>[data-composer]_textarea:focus)>&]:hidden gap-2 overflow-hidden touch:-mt-[7px] touch:mb-[3px] max-wide:overflow-x-auto max-wide:[scrollbar-width:none]">
      {tools.slice(0, QUICK_TOOL_COUNT).map(({ name, serverName }) => (
        <button
          key={`${serverName}/${name}`}
          type="button"
          onClick={() => onFill(t("chat.prefill", { tool: name }))}
          className="flex max-w-60 min-w-20 items-center rounded-full text-sm whitespace-nowrap text-ink-2 transition-colors duration-150 hover:text-ink touch:h-11 max-wide:shrink-0"
        >
          <span className="flex h-[30px] min-w-0 flex-1 items-center gap-[7px] rounded-full border border-line-strong bg-surface px-3">
            <Pulse aria-hidden="true" className="size-4 shrink-0" />
            <span className="truncate">{name}</span>
          </span>
        </button>
      ))}
      {tools.length > QUICK_TOOL_COUNT && (
        <Badge>{t("chat.moreTools", { n: tools.length - QUICK_TOOL_COUNT })}</Badge>
      )}
    </div>
  );
}
