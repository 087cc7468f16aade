import { CloudOff } from "lucide-react";
import { useSyncExternalStore } from "react";
import { t } from "@/lib/later-texts";

/** Shown in place of a chat while there is no network to load the chats from. */
export function OfflineStart() {
  const isOnline = useSyncExternalStore(subscribe, () => navigator.onLine);
  if (isOnline) return null;
  return (
    <div className="grid place-content-center justify-items-center gap-1 px-5 text-center">
      <CloudOff aria-hidden="true" className="mb-2 size-6 text-ink-3" />
      <h2>{t("chat.empty.offline")}</h2>
      <p className="text-md text-ink-2">{t("chat.empty.offline.about")}</p>
    </div>
  );
}

function subscribe(listener: () => void): () => void {
  addEventListener("online", listener);
  addEventListener("offline", listener);
  return () => {
    removeEventListener("online", listener);
    removeEventListener("offline", listener);
  };
}
