import { Mic } from "lucide-react";
import { type RefObject, useEffect, useState, useSyncExternalStore } from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { IconButton } from "@/ui/button";
import { Dictation } from "./dictation";
import { speechRecognition } from "./speech-recognition";

interface DictationButtonProps {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  write: (text: string) => void;
}

/** Microphone button; absent in browsers without speech recognition. */
export function DictationButton({ field, text, write }: DictationButtonProps) {
  const [dictation] = useState(() => new Dictation());
  const isListening = useSyncExternalStore(dictation.subscribe, dictation.isListening);
  useEffect(() => dictation.setEditor({ field: field.current, text, write }));
  useEffect(() => () => dictation.abort(), [dictation]);
  const Recognition = speechRecognition();
  if (!Recognition) return null;
  return (
    <>
      <IconButton
        size="sm"
        label={t(isListening ? "models.voice.stop" : "models.voice.dictate")}
        icon={<Mic />}
        onClick={() => (isListening ? dictation.stop() : dictation.start(Recognition))}
        // The large button of a touch screen reaches into the Send button below; its color does not.
        className={cn(
          isListening && "bg-accent-soft! text-accent! touch:rounded-full! touch:bg-clip-content touch:p-1.5",
        )}
      />
      <span role="status" className="sr-only">
        {isListening && t("models.voice.listening")}
      </span>
    </>
  );
}
