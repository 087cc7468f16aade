import { useQuery } from "@tanstack/react-query";
import { Mic } from "lucide-react";
import { type RefObject, useEffect, useState, useSyncExternalStore } from "react";
import { cn } from "@/lib/cn";
import { canRecord, readDictationSource } from "@/lib/dictation-source";
import { t } from "@/lib/later-texts";
import { speechRecognition } from "@/lib/speech-recognition";
import { IconButton } from "@/ui/button";
import { Spinner } from "@/ui/spinner";
import { toastError } from "@/ui/toast";
import { Dictation } from "./dictation";
import { modelsQuery } from "../queries";

interface DictationButtonProps {
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  write: (text: string) => void;
}

/** Microphone button; absent if neither the browser nor a model recognizes speech. */
export function DictationButton({ field, text, write }: DictationButtonProps) {
  const [dictation] = useState(() => new Dictation());
  const state = useSyncExternalStore(dictation.subscribe, dictation.state);
  const { data: models } = useQuery(modelsQuery);
  useEffect(() => dictation.setEditor({ field: field.current, text, write }));
  useEffect(() => () => dictation.abort(), [dictation]);
  const Browser = speechRecognition();
  const canTranscribe = typeof models?.transcription === "string" && canRecord();
  if (!Browser && !canTranscribe) return null;

  async function start(): Promise<void> {
    if (Browser && !(canTranscribe && readDictationSource() === "model")) dictation.start(Browser);
    else dictation.start((await import("./recorded-speech")).RecordedSpeech);
  }
  const actions = {
    idle: () => void start().catch(toastError),
    listening: () => dictation.stop(),
    transcribing: () => dictation.abort(),
  };
  return (
    <>
      <IconButton
        size="sm"
        label={t(`models.voice.action.${state}`)}
        icon={state === "transcribing" ? <Spinner /> : <Mic />}
        onClick={actions[state]}
        // The large button of a touch screen reaches into the Send button below; its color does not.
        className={cn(
          state !== "idle" &&
            "bg-accent-soft! text-accent! touch:rounded-full! touch:bg-clip-content touch:p-1.5",
        )}
      />
      <span role="status" className="sr-only">
        {state !== "idle" && t(`models.voice.${state}`)}
      </span>
    </>
  );
}
