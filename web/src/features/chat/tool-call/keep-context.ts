import type { AppContext } from "@/components/tool-app/app-host";
import { appContexts } from "../app-contexts";

/** Keeps what the app of a call said last. What is kept is replaced, so that who sends it knows whether more was said. */
export function keepContext(chatId: string, callId: string, context: AppContext): void {
  appContexts.set(chatId, new Map(appContexts.get(chatId)).set(callId, context));
}
