import { useEffect, useSyncExternalStore } from "react";
import { subscribeEvents } from "@/lib/events";
import { checkPageVersion, usePageIsOutdated } from "@/lib/page-version";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";

/** Notice that the network is down, or that the server has a newer version. */
export function StatusBar() {
  const isOutdated = usePageIsOutdated();
  const isOnline = useIsOnline();
  // The event stream breaks when the server is upgraded.
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

/** Returns true if the browser reports a network. */
function useIsOnline(): boolean {
  return useSyncExternalStore(subscribe, () => navigator.onLine);
}

function subscribe(listener: () => void): () => void {
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}
