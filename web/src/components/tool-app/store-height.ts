import { heightKey } from "./app-height";

/** Stores the height of a call's app, in px, as long as the browser tab exists. */
export function storeHeight(callId: string, height: number): void {
  try {
    sessionStorage.setItem(heightKey(callId), String(height));
  } catch {
    // Without storage the height lasts as long as the app.
  }
}
