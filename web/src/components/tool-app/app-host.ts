import { createContext } from "react";
import type { JsonObject } from "@/lib/json";

/** Context that an app provides for the model's next turn. */
export interface AppContext {
  readonly serverName: string;
  readonly tool: string;
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonObject;
}

/** Services of the surrounding conversation for an app. */
export interface AppHost {
  /** Sends a message as the user; resolves to true if it was accepted. */
  sendMessage(text: string): Promise<boolean>;
  /** Replaces the context of a call's app for the model. */
  updateContext(callId: string, context: AppContext): void;
}

/** Outside of a conversation both do nothing. */
export const AppHostContext = createContext<AppHost>({
  sendMessage: () => Promise.resolve(false),
  updateContext: () => undefined,
});
