import { useEffect } from "react";
import { subscribeEvents } from "@/lib/events";
import { checkPageVersion, usePageIsOutdated } from "@/lib/page-version";
import { t } from "@/lib/t";
import { useIsOnline } from "@/lib/use-is-online";
import { Button } from "@/ui/button";

/** Says what keeps the whole page from working as it should: no network, or a newer version at the server. */
export function StatusBar() {
  const isOutdated = usePageIsOutdated();
  const isOnline = useIsOnline();
  // The stream of events breaks when the server is upgraded.
  useEffect(
    () =>
      subscribeEvents((event) => {
        if (event.type === "open") void checkPageVersion();
      }),
    [],
  );
  return (
    <div role="status">
      {!isOnline && (
        <p className="border-b border-line bg-warn-soft px-5 py-1.5 text-center text-sm text-warn">
          {t("app.offline")}
        </p>
      )}
      {isOnline && isOutdated && (
        <p className="flex flex-wrap items-center justify-center gap-x-3 gap-y-1 border-b border-line bg-accent-soft px-5 py-1.5 text-sm">
          {t("app.newVersion")}
          <Button size="sm" onClick={() => location.reload()}>
            {t("app.reload")}
          </Button>
        </p>
      )}
    </div>
  );
}
