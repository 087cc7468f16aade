import { useState } from "react";
import {
  canRecord,
  type DictationSource,
  readDictationSource,
  storeDictationSource,
} from "@/lib/dictation-source";
import { t } from "@/lib/later-texts";
import { speechRecognition } from "@/lib/speech-recognition";
import { ChoiceRow } from "../choice-row";

const sources: readonly DictationSource[] = ["browser", "model"];

interface DictationRowProps {
  /** Id of the model that transcribes speech. */
  model: string | null | undefined;
}

/** Choice of what recognizes dictated speech on this device; absent if there is no choice. */
export function DictationRow({ model }: DictationRowProps) {
  const [chosen, setChosen] = useState(readDictationSource);
  if (typeof model !== "string" || !canRecord() || !speechRecognition()) return null;
  return (
    <ChoiceRow
      name="dictation"
      title={t("models.dictation")}
      about={t("models.dictation.about")}
      choices={sources.map((source) => ({ value: source, label: t(`models.dictation.${source}`) }))}
      chosen={chosen}
      onChoose={(source) => {
        storeDictationSource(source);
        setChosen(source);
      }}
    />
  );
}
