import { TriangleAlert } from "lucide-react";
import type { JsonObject } from "@/lib/json";
import { TextBlock } from "@/tool-result/text-block";
import { t } from "./approval-text";
import { changesOf } from "./definition";

interface ChangesProps {
  before: JsonObject;
  now: JsonObject;
}

/** What a server has changed about a tool since it was allowed for good, old against new. */
export function Changes({ before, now }: ChangesProps) {
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-2 rounded-md bg-warn-soft px-3 py-2.5">
      <p className="flex items-start gap-2 text-sm">
        <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-warn" />
        {t("approval.changed")}
      </p>
      {changesOf(before, now).map((change) => (
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
