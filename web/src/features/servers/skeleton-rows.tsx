import { t } from "@/lib/t";

/** Placeholders of two rows, shown only after a delay. */
export function SkeletonRows() {
  return (
    <div role="status" aria-label={t("app.loading")} className="appear-late divide-y divide-line pt-2">
      {[0, 1].map((row) => (
        <div key={row} className="grid gap-2 px-5 py-3.5">
          <span className="my-1 block h-3.5 w-2/5 rounded-sm bg-sunken" />
          <span className="my-1 block h-3 w-3/5 rounded-sm bg-sunken" />
        </div>
      ))}
    </div>
  );
}
