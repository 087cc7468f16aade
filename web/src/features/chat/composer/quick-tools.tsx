import { Activity as Pulse } from "lucide-react";
import { useEffect, useState } from "react";
import { cn } from "@/lib/cn";
import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/t";
import { Badge } from "@/ui/badge";
import { hadTools, rememberTools } from "./had-tools";

/** Number of tools with a button above the composer. */
const QUICK_TOOL_COUNT = 3;

interface QuickToolsProps {
  tools: readonly AvailableTool[];
  /** True while the tools load. */
  isLoading: boolean;
  onFill: (text: string) => void;
}

/** Buttons for the first tools. Their row has its place before they are known, so that nothing moves when they come. */
export function QuickTools({ tools, isLoading, onFill }: QuickToolsProps) {
  const isWriting = useIsWriting();
  const hasTools = tools.length > 0;
  useEffect(() => {
    if (!isLoading) rememberTools(hasTools);
  }, [isLoading, hasTools]);
  if (!hasTools && !(isLoading && hadTools())) return null;
  return (
    // On touch screens the buttons' touch area extends into the space around the row.
    <div
      className={cn(
        "relative mb-2.5 flex min-h-[30px] items-center gap-2 overflow-hidden short:hidden touch:-mt-[7px] touch:mb-[3px] touch:min-h-11 max-wide:overflow-x-auto max-wide:[scrollbar-width:none]",
        isWriting && "max-wide:hidden",
      )}
    >
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

/** Returns true while the message field has the focus, and until the press that takes the focus away has ended. */
function useIsWriting(): boolean {
  const [isWriting, setWriting] = useState(false);
  useEffect(() => {
    const listeners = new AbortController();
    const { signal } = listeners;
    let isPressed = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const update = () => {
      clearTimeout(timer);
      // After the click of the press: what is pressed would move away from the pointer before it.
      timer = setTimeout(() => {
        if (!isPressed) setWriting(document.activeElement?.matches("[data-composer] textarea") === true);
      });
    };
    const press = (pressed: boolean) => () => {
      isPressed = pressed;
      update();
    };
    addEventListener("pointerdown", press(true), { signal, capture: true });
    for (const end of ["pointerup", "pointercancel", "dragend"])
      addEventListener(end, press(false), { signal, capture: true });
    addEventListener("focusin", update, { signal });
    addEventListener("focusout", update, { signal });
    update();
    return () => {
      clearTimeout(timer);
      listeners.abort();
    };
  }, []);
  return isWriting;
}
