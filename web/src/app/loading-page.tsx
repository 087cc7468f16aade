import { t } from "@/lib/t";
import { Spinner } from "@/ui/spinner";

/** Page while the session is being checked. */
export function LoadingPage() {
  return (
    <main className="grid h-full place-items-center">
      <p role="status" className="appear-late flex items-center gap-2.5 text-ink-2">
        <Spinner />
        {t("app.loading")}
      </p>
    </main>
  );
}
