const key = (callId: string): string => `ai-chat-mcp.app-height.${callId}`;

/** How high an app stands before it has said what it needs, in px. */
const UNKNOWN = 320;

/** The height that the app of a call had when it was last seen here, in px, so that nothing jumps when it comes back. */
export function keptHeight(callId: string): number {
  try {
    return Number(sessionStorage.getItem(key(callId))) || UNKNOWN;
  } catch {
    return UNKNOWN;
  }
}

export function keepHeight(callId: string, height: number): void {
  try {
    sessionStorage.setItem(key(callId), String(height));
  } catch {
    // Without storage the height lasts as long as the app.
  }
}
