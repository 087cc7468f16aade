import { heightKey } from "./app-height";

/** Keeps the height of the app of a call, in px, for as long as the tab of the browser lives. */
export function storeHeight(callId: string, height: number): void {
  try {
    sessionStorage.setItem(heightKey(callId), String(height));
  } catch {
    // Without storage the height lasts as long as the app.
  }
}
