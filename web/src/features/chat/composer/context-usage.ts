import { useQuery } from "@tanstack/react-query";
import { useChatStatus } from "../chat-context";
import { answerUsageQuery, useChatModel } from "../queries";
import type { ChatStore } from "../stream/chat-store";

/** Share from which the gauge is shown next to the composer. */
export const SHOWN_SHARE = 0.5;
/** Share from which the user is warned. */
export const WARNING_SHARE = 0.85;

/** Use of a model's context by a chat, in tokens. */
export interface ContextUsage {
  readonly used: number;
  /** The model's context. */
  readonly size: number;
  /** `used / size`, at most 1. */
  readonly share: number;
}

/**
 * Returns the use of the model's context, or undefined while it is unknown. What the last call of the last answer read
 * and wrote is the chat as the model's provider counts it.
 */
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
  if (size === undefined || !data?.lastCall) return undefined;
  const used = data.lastCall.inputTokens + data.lastCall.outputTokens;
  return { used, size, share: Math.min(1, used / size) };
}
