import { forgetAfter } from "@/lib/user-data";

const prefix = "ai-chat-mcp.app-height.";

/** Returns the storage key for the height of a call's app. */
const heightKey = (callId: string): string => `${prefix}${callId}`;

forgetAfter("user", () => {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
  } catch {
    // Without storage there is no height.
  }
});

/** Height of an app before it reports its own. */
const DEFAULT_HEIGHT_PX = 320;

/** Returns the last known height of a call's app, in px, so that nothing moves when it is shown again. */
export function storedHeight(callId: string): number {
  try {
    return Number(sessionStorage.getItem(heightKey(callId))) || DEFAULT_HEIGHT_PX;
  } catch {
    return DEFAULT_HEIGHT_PX;
  }
}

/** Stores the height of a call's app, in px, as long as the browser tab exists. */
export function storeHeight(callId: string, height: number): void {
  try {
    sessionStorage.setItem(heightKey(callId), String(height));
  } catch {
    // Without storage the height lasts as long as the app.
  }
}
