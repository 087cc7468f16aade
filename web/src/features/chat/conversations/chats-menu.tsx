import { ChevronDown } from "lucide-react";
import { Suspense } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { buttonClass } from "@/ui/button";
import { Popover } from "@/ui/popover";
import type { Jump } from "../transcript/jump";
import type { Chats } from "./use-chats";

/** Imported here alone: a second import of its own would move the list into what all parts of the page load. */
export const ChatList = lazyPart(async () => (await import("./chat-list")).ChatList);

/** Names what the keys open. */
export const chatsMenuId = "chats";

interface ChatsMenuProps {
  chats: Chats;
  onJump: (jump: Jump) => void;
}

/** "Chats (n)": the recent chats, to find, to open, to put in order and to delete. */
export function ChatsMenu({ chats, onJump }: ChatsMenuProps) {
  return (
    <Popover
      id={chatsMenuId}
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
        <ChatList chats={chats} onJump={onJump} />
      </Suspense>
    </Popover>
  );
}
