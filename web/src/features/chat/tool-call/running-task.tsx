import { useMutation } from "@tanstack/react-query";
import { use, useLayoutEffect, useRef } from "react";
import { errorText } from "@/lib/error-text";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { Button } from "@/ui/button";
import { ChatId } from "../chat-context";
import { cancelCall } from "../queries";
import type { ToolPart, ToolTask } from "../stream/message";

interface RunningTaskProps {
  part: ToolPart;
  task: ToolTask;
}

/** State of a call that runs as an MCP task, with a button to cancel it. */
export function RunningTask({ part, task }: RunningTaskProps) {
  const chatId = use(ChatId);
  const panel = useRef<HTMLDivElement>(null);
  const cancel = useMutation({ mutationFn: () => cancelCall(chatId, part.toolCallId) });
  useLayoutEffect(() => {
    const own = panel.current;
    const card = own?.parentElement?.querySelector("button");
    // The view disappears when the call ends; keyboard users continue from the card.
    return () => {
      if (own?.contains(document.activeElement) === true) card?.focus();
    };
  }, []);
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
        {cancel.status === "error" && (
          <p role="alert" className="text-err wrap-anywhere">
            {errorText(cancel.error)}
          </p>
        )}
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
