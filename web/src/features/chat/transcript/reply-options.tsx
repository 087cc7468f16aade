import { use, useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { useFocusHandover } from "@/ui/focus";
import { SendInChat } from "../chat-context";
import type { ChatMessage, Part } from "../stream/message";

/** Buttons with the replies that an answer offers. A click sends one as the next message. */
export function ReplyOptions({ message }: { message: ChatMessage }) {
  const sendMessage = use(SendInChat);
  const [isSending, setIsSending] = useState(false);
  const panel = useFocusHandover<HTMLDivElement>(conversationAround);

  async function send(reply: string): Promise<void> {
    if (isSending) return;
    setIsSending(true);
    await sendMessage(reply);
    setIsSending(false);
  }

  return (
    <div ref={panel} role="group" aria-label={t("chat.replies")} className="flex flex-wrap gap-2">
      {[...new Set(message.parts.flatMap(repliesIn))].map((reply) => (
        <Button
          key={reply}
          aria-disabled={isSending || undefined}
          className="max-w-full"
          onClick={() => void send(reply)}
        >
          <span className="truncate leading-normal">{reply}</span>
        </Button>
      ))}
    </div>
  );
}

/** Returns the replies in a part; the server's value is not trusted. */
function repliesIn(part: Part): string[] {
  if (part.type !== "reply-options" || !Array.isArray(part.options)) return [];
  return part.options.filter((reply): reply is string => typeof reply === "string" && reply !== "");
}

function conversationAround(own: HTMLElement): HTMLElement | null {
  return own.closest<HTMLElement>("[tabindex]");
}
