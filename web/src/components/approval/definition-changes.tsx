import { TriangleAlert } from "lucide-react";
import { TextBlock } from "@/components/tool-result/text-block";
import { t } from "@/lib/later-texts";
import { changesOf, type ToolApproval } from "./definition";

interface DefinitionChangesProps {
  approval: ToolApproval;
}

/** Changes of a tool since it was allowed permanently, old and new. */
export function DefinitionChanges({
  approval: { definition, before, instructions },
}: DefinitionChangesProps) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2 rounded-md bg-warn-soft px-3 py-2.5">
      <p className="flex items-start gap-2 text-sm">
        <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-warn" />
        {t(before === undefined ? "approval.changedInstructions" : "approval.changed")}
      </p>
      {changesOf(definition, before, instructions).map((change) => (
        <div key={change.name} className="grid grid-cols-[minmax(0,1fr)] gap-1 text-sm">
          <h5 className="text-sm font-medium">{t(change.name)}</h5>
          <p className="text-xs text-ink-2">{t("approval.before")}</p>
          <TextBlock text={change.before} />
          <p className="text-xs text-ink-2">{t("approval.now")}</p>
          <TextBlock text={change.now} />
        </div>
      ))}
    </div>
  );
}
