import { type QueryKey, useQueryClient } from "@tanstack/react-query";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";

/** Placeholder for a list that is loading, shown only after a delay. */
export function LoadingRow() {
  return (
    <div role="status" aria-label={t("app.loading")} className="appear-late grid gap-2 px-4 py-3.5">
      <span className="block h-3.5 w-2/5 rounded-sm bg-sunken" />
      <span className="block h-3 w-3/5 rounded-sm bg-sunken" />
    </div>
  );
}

/** Notice of a list that failed to load, with a retry button. */
export function FailedRow({ queryKey }: { queryKey: QueryKey }) {
  const client = useQueryClient();
  return (
    <div className="flex items-center gap-3 px-4 py-2.5">
      <p role="alert" className="flex-1 text-sm text-err">
        {t("account.loadFailed")}
      </p>
      <Button size="sm" onClick={() => void client.invalidateQueries({ queryKey })}>
        {t("app.crash.retry")}
      </Button>
    </div>
  );
}
