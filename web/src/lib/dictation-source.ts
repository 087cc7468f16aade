/** What turns dictated speech into text: the browser, or a model of a provider. */
export type DictationSource = "browser" | "model";

const KEY = "dictation";

/** Returns the choice of this browser's user, for a browser that has speech recognition of its own. */
export function readDictationSource(): DictationSource {
  try {
    return localStorage.getItem(KEY) === "model" ? "model" : "browser";
  } catch {
    return "browser";
  }
}

export function storeDictationSource(source: DictationSource): void {
  try {
    localStorage.setItem(KEY, source);
  } catch {
    // Without storage the browser recognizes speech.
  }
}

/** Returns true if the browser can record speech for a model. */
export function canRecord(): boolean {
  // Pages without HTTPS have no media devices, whatever the types say.
  const { mediaDevices } = navigator as Partial<Navigator>;
  return mediaDevices !== undefined && "MediaRecorder" in globalThis;
}
