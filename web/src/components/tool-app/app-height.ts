import { forgetAfter } from "@/lib/user-data";

const prefix = "ai-chat-mcp.app-height.";

/** Under which name the height of the app of a call is kept. */
export const heightKey = (callId: string): string => `${prefix}${callId}`;

forgetAfter("user", () => {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(prefix)) sessionStorage.removeItem(key);
  } catch {
    // Without storage nothing was kept.
  }
});

/** How high an app stands before it has said what it needs, in px. */
const DEFAULT_HEIGHT_PX = 320;

/** The height that the app of a call had when it was last seen here, in px, so that nothing jumps when it comes back. */
export function storedHeight(callId: string): number {
  try {
    return Number(sessionStorage.getItem(heightKey(callId))) || DEFAULT_HEIGHT_PX;
  } catch {
    return DEFAULT_HEIGHT_PX;
  }
}
