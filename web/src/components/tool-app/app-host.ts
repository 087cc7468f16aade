import { createContext } from "react";
import type { JsonObject } from "@/lib/json";

/** What an app wants the model to know in the next turn. */
export interface AppContext {
  readonly serverName: string;
  readonly tool: string;
  readonly content: readonly JsonObject[];
  readonly structuredContent?: JsonObject;
}

/** What the place in which an app stands does for it. */
export interface AppHost {
  /** Sends a message in the person's name; whether that could be done. */
  sendMessage(text: string): Promise<boolean>;
  /** Keeps what the app of a call wants the model to know; what it said before is forgotten. */
  updateContext(callId: string, context: AppContext): void;
}

/** Where there is no conversation, an app has nobody to talk to. */
export const AppHostContext = createContext<AppHost>({
  sendMessage: () => Promise.resolve(false),
  updateContext: () => undefined,
});
