import { use } from "react";
import { Elicitation } from "@/components/elicitation/elicitation";
import type { ElicitationAction } from "@/components/elicitation/request";
import { callApi, jsonBody } from "@/lib/api-client";
import { stringifyJson } from "@/lib/json";
import { ChatId } from "../chat-id";
import type { ToolPart } from "../stream/message";

/** Elicitations that a tool call waits for. The first response counts, in any tab. */
export function Elicitations({ part }: { part: ToolPart }) {
  const chatId = use(ChatId);
  function answer(id: string, action: ElicitationAction, content: unknown): Promise<void> {
    const path = `/api/sessions/${encodeURIComponent(chatId)}/elicitations/${encodeURIComponent(id)}`;
    const body = { action, ...(content !== undefined && { content }) };
    return callApi(path, jsonBody(body, stringifyJson));
  }
  return part.elicitations?.map(({ id, request }) => (
    <Elicitation
      key={id}
      server={part.serverName ?? ""}
      request={request}
      onAnswer={(action, content) => answer(id, action, content)}
    />
  ));
}
