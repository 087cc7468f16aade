import { useSyncExternalStore } from "react";
import { pageLocale } from "@/lib/language";
import { t } from "@/lib/later-texts";
import { forgetAfter } from "@/lib/user-data";
import { toast } from "@/ui/toast";
import { spokenLanguage } from "./spoken-language";
import { spokenPassages } from "./spoken-text";

/** Id of the message that is being read. */
let readingId: string | undefined;
/** Passages that are being read. Some browsers forget those that nothing refers to. */
let passages: readonly SpeechSynthesisUtterance[] = [];
const listeners = new Set<() => void>();

/** True if the browser has voices. */
export const canReadAloud = "speechSynthesis" in globalThis;

/** Reads a message aloud, in place of another one. */
export function readAloud(id: string, markdown: string): void {
  stopReading();
  const texts = spokenPassages(markdown);
  if (texts.length === 0) {
    toast({ title: t("steering.read.title"), description: t("steering.read.nothing") });
    return;
  }
  const language = spokenLanguage(texts.join(" "), pageLocale());
  passages = texts.map((text) => {
    const utterance = new SpeechSynthesisUtterance(text);
    utterance.lang = language;
    return utterance;
  });
  const own = passages;
  const end = () => {
    if (passages === own) stopReading();
  };
  own.at(-1)?.addEventListener("end", end);
  for (const utterance of own) {
    utterance.addEventListener("error", () => {
      if (passages !== own) return;
      end();
      toast({ title: t("steering.read.title"), description: t("steering.read.failed"), tone: "err" });
    });
    speechSynthesis.speak(utterance);
  }
  change(id);
}

/** Stops reading, if anything is being read. */
export function stopReading(): void {
  if (readingId === undefined) return;
  passages = [];
  speechSynthesis.cancel();
  change(undefined);
}
forgetAfter("session", stopReading);

/** Returns true while a message is being read. */
export function useIsReading(id: string): boolean {
  return useSyncExternalStore(subscribe, () => readingId === id);
}

function change(id: string | undefined): void {
  readingId = id;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
