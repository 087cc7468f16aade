import type { AppContext } from "@/components/tool-app/app-host";
import { forgetAfter } from "@/lib/user-data";

/** Latest context of each app for the model, by chat id and tool call id. It goes with the next message. */
export const appContexts = new Map<string, ReadonlyMap<string, AppContext>>();
forgetAfter("session", () => appContexts.clear());

/**
 * Stores the latest context of a call's app. The map is replaced on each change, so that a sender can detect newer
 * contexts.
 */
export function storeAppContext(chatId: string, callId: string, context: AppContext): void {
  appContexts.set(chatId, new Map(appContexts.get(chatId)).set(callId, context));
}
