import { ChevronDown } from "lucide-react";
import { Suspense } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { buttonClass } from "@/ui/button";
import { Popover } from "@/ui/popover";
import type { ScrollTarget } from "../transcript/scroll-controller";
import type { Chats } from "./use-chats";

/** Imported only here: a second import would move the list into the first chunk. */
export const ChatList = lazyPart(async () => (await import("./chat-list")).ChatList);

/** Id of the button that shows the hidden sidebar. */
export const showSidebarId = "show-sidebar";

interface ChatsMenuProps {
  chats: Chats;
  onReveal: (jump: ScrollTarget) => void;
}

/** Menu "Chats (n)" with the recent chats: find, open, organize and delete them. */
export function ChatsMenu({ chats, onReveal }: ChatsMenuProps) {
  return (
    <Popover
      trigger={
        <>
          <span className="tabular-nums">
            {chats.loading ? t("chat.chats.loading") : t("chat.chats", { n: chats.list.length })}
          </span>
          <ChevronDown aria-hidden="true" />
        </>
      }
      triggerClassName={buttonClass({ variant: "quiet" })}
      label={t("chat.recent")}
      className="w-[min(380px,calc(100vw-20px))]"
    >
      <Suspense>
        <ChatList chats={chats} onReveal={onReveal} />
      </Suspense>
    </Popover>
  );
}
