import { TriangleAlert } from "lucide-react";
import { Suspense } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { ChatList } from "./chats-menu";
import type { Chats } from "./use-chats";
import type { ChatSession } from "../queries";
import type { ScrollTarget } from "../transcript/scroll-controller";

interface UnfinishedOpeningProps {
  chats: Chats;
  chat: ChatSession;
  onReveal: (jump: ScrollTarget) => void;
}

/** List of chats in place of a chat that may have crashed the page. */
export function UnfinishedOpening({ chats, chat, onReveal }: UnfinishedOpeningProps) {
  return (
    <div className="min-h-0 overflow-y-auto px-5 py-7 max-wide:px-3.5 max-wide:py-5">
      <div className="mx-auto grid max-w-measure grid-cols-[minmax(0,1fr)] gap-5">
        <div role="alert" className="flex items-start gap-3 rounded-md border border-line bg-surface p-4">
          <TriangleAlert aria-hidden="true" className="mt-0.5 size-5 shrink-0 text-ink-2" />
          <div className="grid min-w-0 justify-items-start gap-1">
            <h3 className="font-semibold">{t("chat.unfinished.title")}</h3>
            <p className="text-md text-ink-2 wrap-anywhere">
              {t("chat.unfinished.text", { title: chat.title })}
            </p>
            <Button variant="line" className="mt-2" onClick={() => chats.select(chat.id)}>
              {t("chat.unfinished.open")}
            </Button>
          </div>
        </div>
        <div className="rounded-md border border-line bg-surface p-1">
          <Suspense>
            <ChatList chats={chats} onReveal={onReveal} />
          </Suspense>
        </div>
      </div>
    </div>
  );
}
