import { pageLocale } from "@/lib/language";
import { t } from "@/lib/later-texts";
import type {
  RecognitionErrorEvent,
  RecognitionResultEvent,
  SpeechRecognition,
  SpeechRecognizer,
} from "@/lib/speech-recognition";
import { toast } from "@/ui/toast";
import { type DictationPlace, insertSpoken } from "./insert-spoken";

const ERROR_TEXTS = {
  "not-allowed": "models.voice.blocked",
  "service-not-allowed": "models.voice.blocked",
  "audio-capture": "models.voice.noMicrophone",
  network: "models.voice.network",
  "language-not-supported": "models.voice.language",
  "no-speech": "models.voice.silence",
} as const;

function isKnownError(error: string): error is keyof typeof ERROR_TEXTS {
  return error in ERROR_TEXTS;
}

/** Message field that dictation writes to. */
interface Editor {
  readonly field: HTMLTextAreaElement | null;
  readonly text: string;
  readonly write: (text: string) => void;
}

/** What dictation does: it listens, or waits for the text of what was said. */
export type DictationState = "idle" | "listening" | "transcribing";

/** Writes what is said into a message field, also while it may still change. */
export class Dictation {
  readonly #listeners = new Set<() => void>();
  #recognizer: SpeechRecognizer | undefined;
  #isTranscribing = false;
  #editor: Editor = { field: null, text: "", write: () => undefined };
  #place: DictationPlace = { before: "", after: "" };
  /** Number of results, and of those among them that are in the text before the place. */
  #resultCount = 0;
  #settledCount = 0;
  /** Text that dictation wrote last. */
  #written = "";

  readonly state = (): DictationState => {
    if (this.#recognizer === undefined) return "idle";
    return this.#isTranscribing ? "transcribing" : "listening";
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Tells the current text and how to change it. Removing the text, as sending does, ends the dictation. */
  setEditor(editor: Editor): void {
    this.#editor = editor;
    if (!this.#recognizer || editor.text === this.#written) return;
    if (editor.text === "") this.abort();
    // What is typed stays; what is said next comes where the cursor is.
    else this.#readPlace();
  }

  start(Recognition: SpeechRecognition): void {
    const recognizer = new Recognition();
    recognizer.continuous = true;
    recognizer.interimResults = true;
    recognizer.lang = pageLocale();
    const isCurrent = () => this.#recognizer === recognizer;
    recognizer.addEventListener("result", (event) => {
      if (isCurrent()) this.#onResult(event as RecognitionResultEvent);
    });
    recognizer.addEventListener("error", (event) => {
      if (isCurrent()) showError(event as RecognitionErrorEvent);
    });
    recognizer.addEventListener("audioend", () => {
      if (!isCurrent()) return;
      this.#isTranscribing = true;
      this.#notify();
    });
    recognizer.addEventListener("end", () => {
      if (isCurrent()) this.#setRecognizer(undefined);
    });
    this.#resultCount = 0;
    this.#readPlace();
    this.#editor.field?.focus();
    try {
      recognizer.start();
      this.#setRecognizer(recognizer);
    } catch {
      showError({ error: "" });
    }
  }

  /** Ends with a last result of what was said. */
  stop(): void {
    this.#recognizer?.stop();
  }

  /** Ends at once. */
  abort(): void {
    const recognizer = this.#recognizer;
    this.#setRecognizer(undefined);
    recognizer?.abort();
  }

  #onResult({ results }: RecognitionResultEvent): void {
    this.#resultCount = results.length;
    const spoken = Array.from(results)
      .slice(this.#settledCount)
      .map((result) => result[0]?.transcript ?? "")
      .join(" ");
    const { text, end } = insertSpoken(this.#place, spoken);
    this.#written = text;
    this.#editor.write(text);
    requestAnimationFrame(() => this.#editor.field?.setSelectionRange(end, end));
  }

  #readPlace(): void {
    const { field, text } = this.#editor;
    const from = field?.selectionStart ?? text.length;
    this.#place = { before: text.slice(0, from), after: text.slice(field?.selectionEnd ?? from) };
    this.#settledCount = this.#resultCount;
    this.#written = text;
  }

  #setRecognizer(recognizer: SpeechRecognizer | undefined): void {
    this.#recognizer = recognizer;
    this.#isTranscribing = false;
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners) listener();
  }
}

function showError({ error, message }: Pick<RecognitionErrorEvent, "error" | "message">): void {
  if (error === "aborted") return;
  const text = isKnownError(error) ? t(ERROR_TEXTS[error]) : message;
  toast({
    title: t("models.voice.title"),
    description: text || t("models.voice.failed"),
    tone: error === "no-speech" ? "neutral" : "err",
  });
}
