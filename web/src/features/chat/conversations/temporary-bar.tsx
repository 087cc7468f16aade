import { EyeOff } from "lucide-react";
import { useEffect, useState } from "react";
import { subscribeEvents } from "@/lib/events";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { temporaryChatExists } from "./temporary-chat";
import type { Chats } from "./use-chats";

interface TemporaryBarProps {
  id: string;
  chats: Chats;
}

/** Notice that the open chat is temporary, and when it is deleted. */
export function TemporaryBar({ id, chats }: TemporaryBarProps) {
  const [gone, setGone] = useState(false);

  useEffect(() => {
    let away = false;
    const look = () => {
      void temporaryChatExists(id).then((there) => {
        if (!away && !there) setGone(true);
      });
    };
    // A broken event stream may mean that the server restarted, and temporary chats are lost with its memory.
    const unsubscribe = subscribeEvents((event) => {
      if (event.type === "open") look();
    });
    document.addEventListener("visibilitychange", look);
    return () => {
      away = true;
      unsubscribe();
      document.removeEventListener("visibilitychange", look);
    };
  }, [id]);

  return (
    <div
      role="status"
      data-gone={gone || undefined}
      className="flex items-center gap-2.5 border-b border-line bg-sunken px-5 py-1.5 text-sm text-ink-2 data-gone:bg-warn-soft data-gone:text-warn max-wide:pr-1.5 max-wide:pl-3.5"
    >
      <EyeOff aria-hidden="true" className="size-4 shrink-0" />
      <p className="mr-auto min-w-0">{t(gone ? "history.temporary.gone" : "history.temporary.about")}</p>
      <Button size="sm" variant="quiet" onClick={chats.endTemporary}>
        {t("history.temporary.end")}
      </Button>
    </div>
  );
}
