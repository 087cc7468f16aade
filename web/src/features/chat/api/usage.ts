import { queryOptions } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";
import type { Usage } from "@/lib/usage";

interface AnswerUsage {
  readonly answer: Usage;
  readonly chat: Usage;
}

/** Returns the query for the cost of an answer and of its chat so far. */
export function answerUsageQuery(chatId: string, messageId: string) {
  const path = `/api/sessions/${encodeURIComponent(chatId)}/messages/${encodeURIComponent(messageId)}/usage`;
  return queryOptions({
    queryKey: ["answer-usage", chatId, messageId],
    queryFn: () => callApi<AnswerUsage>(path),
    staleTime: 0,
  });
}
