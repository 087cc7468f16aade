import { useQuery } from "@tanstack/react-query";
import type { Usage } from "@/lib/usage";
import { useChatStatus } from "../chat-context";
import { answerUsageQuery, useChatModel } from "../queries";
import type { ChatStore } from "../stream/chat-store";

/** Share from which the gauge is shown next to the composer. */
export const SHOWN_SHARE = 0.5;
/** Share from which the user is warned. */
export const WARNING_SHARE = 0.85;

/** Estimated use of a model's context by a chat, in tokens. */
export interface ContextUsage {
  readonly used: number;
  /** The model's context. */
  readonly size: number;
  /** `used / size`, at most 1. */
  readonly share: number;
}

/**
 * Estimates how many tokens a chat has after an answer, from the usage of all its model calls. Each call reads the chat
 * and what the calls before it wrote, so half of that growth is added to the mean input. Exact for one call; tool results
 * of the last steps are undercounted.
 */
export function estimateContext({ inputTokens, outputTokens, calls }: Usage): number | undefined {
  if (calls === 0) return undefined;
  const meanOutput = outputTokens / calls;
  return Math.round(inputTokens / calls + (meanOutput * (calls - 1)) / 2 + meanOutput);
}

/** Returns the use of the model's context, or undefined while it is unknown. */
export function useContextUsage(chatId: string, store: ChatStore): ContextUsage | undefined {
  const { ids, phase } = useChatStatus(store);
  const { model } = useChatModel(chatId);
  const size = model?.facts?.context;
  const isAnswer = (id: string) => store.message(id)?.role === "assistant" && store.isStored(id);
  const last = ids.findLast(isAnswer) ?? "";
  const { data } = useQuery({
    ...answerUsageQuery(chatId, last),
    // A continued answer keeps its id; it is read again when its turn has ended.
    enabled: size !== undefined && last !== "" && phase === "idle",
  });
  const used = data && estimateContext(data.answer);
  if (size === undefined || used === undefined) return undefined;
  return { used, size, share: Math.min(1, used / size) };
}
