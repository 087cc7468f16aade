import type { AppContext } from "@/tool-app/app-host";

/** What apps want the model to know with the next message: by chat, then by call. */
const kept = new Map<string, Map<string, AppContext>>();

/** Keeps what the app of a call said last. */
export function keepContext(chatId: string, callId: string, context: AppContext): void {
  const ofChat = kept.get(chatId) ?? new Map<string, AppContext>();
  kept.set(chatId, ofChat.set(callId, context));
}

/** What is to go with the next message of a chat. */
export function contextsOf(chatId: string): readonly AppContext[] {
  return [...(kept.get(chatId)?.values() ?? [])];
}

/** Forgets what went with a message; what an app has said since goes with the next one. */
export function forgetContexts(chatId: string, sent: readonly AppContext[]): void {
  const ofChat = kept.get(chatId);
  for (const [callId, context] of ofChat ?? []) if (sent.includes(context)) ofChat?.delete(callId);
}
