import { t } from "@/lib/later-texts";
import { useClosePopover } from "@/ui/popover";
import { ModelList } from "./model-list";

interface RegenerateWithProps {
  /** Id of the model that wrote the answer. */
  writer: string | null;
  onRegenerate: (model: string) => void;
}

/** List of models that can write an answer again. The chat keeps its own model. */
export function RegenerateWith({ writer, onRegenerate }: RegenerateWithProps) {
  const close = useClosePopover();
  return (
    <>
      <div className="grid gap-0.5 px-2.5 pt-2 pb-2.5">
        <h3 className="text-md">{t("steering.againWith")}</h3>
        <p className="text-sm text-ink-2">{t("steering.againWith.about")}</p>
      </div>
      <ModelList
        chosen={writer ?? undefined}
        onChoose={(model) => {
          close();
          onRegenerate(model);
        }}
      />
    </>
  );
}
