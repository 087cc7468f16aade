/**
 * Part of the browser's speech recognition that dictation uses. TypeScript does not declare it. Its events are `result`,
 * `audioend` when it stops listening, `error` and `end`.
 */
export interface SpeechRecognizer extends EventTarget {
  continuous: boolean;
  interimResults: boolean;
  lang: string;
  start(): void;
  /** Ends with a last result of what was said. */
  stop(): void;
  /** Ends without further results. */
  abort(): void;
}

/** Event with all results since the start; the last ones may still change. */
export interface RecognitionResultEvent extends Event {
  readonly results: ArrayLike<ArrayLike<{ readonly transcript: string }> & { readonly isFinal: boolean }>;
}

export interface RecognitionErrorEvent extends Event {
  readonly error: string;
  /** Details; browsers leave them empty. */
  readonly message?: string;
}

export type SpeechRecognition = new () => SpeechRecognizer;

interface SpeechWindow {
  readonly SpeechRecognition?: SpeechRecognition;
  readonly webkitSpeechRecognition?: SpeechRecognition;
}

/** Returns the class of the browser's speech recognition, if it has one. */
export function speechRecognition(): SpeechRecognition | undefined {
  const speech = globalThis as unknown as SpeechWindow;
  return speech.SpeechRecognition ?? speech.webkitSpeechRecognition;
}
