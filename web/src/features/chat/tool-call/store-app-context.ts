import type { AppContext } from "@/components/tool-app/app-host";
import { appContexts } from "../app-contexts";

/**
 * Stores the latest context of a call's app. The map is replaced on each change, so that a sender can detect newer
 * contexts.
 */
export function storeAppContext(chatId: string, callId: string, context: AppContext): void {
  appContexts.set(chatId, new Map(appContexts.get(chatId)).set(callId, context));
}
