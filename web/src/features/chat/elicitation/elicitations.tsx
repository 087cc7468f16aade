import { use } from "react";
import { Elicitation } from "@/components/elicitation/elicitation";
import { ChatId } from "../chat-context";
import { respondToElicitation } from "../queries";
import type { ToolPart } from "../stream/message";

/** Elicitations that a tool call waits for. */
export function Elicitations({ part }: { part: ToolPart }) {
  const chatId = use(ChatId);
  return part.elicitations?.map(({ id, request }) => (
    <Elicitation
      key={id}
      server={part.serverName ?? ""}
      request={request}
      onAnswer={(action, content) => respondToElicitation(chatId, id, action, content)}
    />
  ));
}
