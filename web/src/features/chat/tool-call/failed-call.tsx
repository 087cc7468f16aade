import { RotateCw } from "lucide-react";
import { use } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { ChatId, SendInChat } from "../chat-context";
import type { ToolPart } from "../stream/message";
import { failureReason } from "./call-state";

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
export function FailedCall({ part, showsReason, isEnded }: FailedCallProps) {
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
