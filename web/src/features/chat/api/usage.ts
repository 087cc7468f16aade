import { callApi } from "@/lib/api-client";
import { queryOptions } from "@/lib/query/use-query";

/** What calls of models cost, in tokens. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the tokens read, those that came from a cache. */
  readonly cachedInputTokens: number;
  readonly calls: number;
  /** Of the calls, those whose provider did not tell all of it. */
  readonly estimatedCalls: number;
  /** US dollars, as far as prices are known. */
  readonly costUsd: number;
  /** Of the calls, those whose price is not known. */
  readonly unpricedCalls: number;
}

interface AnswerUsage {
  readonly answer: Usage;
  readonly chat: Usage;
}

/** What an answer cost, and its chat so far. */
export function answerUsageQuery(chatId: string, messageId: string) {
  const path = `/api/sessions/${encodeURIComponent(chatId)}/messages/${encodeURIComponent(messageId)}/usage`;
  return queryOptions({
    queryKey: ["answer-usage", chatId, messageId],
    queryFn: () => callApi<AnswerUsage>(path),
    staleTime: 0,
  });
}
