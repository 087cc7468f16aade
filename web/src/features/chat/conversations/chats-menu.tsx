import { ChevronDown } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { t } from "@/lib/t";
import { buttonClass } from "@/ui/button";
import { Popover } from "@/ui/popover";
import type { Jump } from "../transcript/jump";
import type { Chats } from "./use-chats";

const ChatList = lazy(async () => ({ default: (await import("./chat-list")).ChatList }));

/** Names what the keys open. */
export const chatsMenuId = "chats";

interface ChatsMenuProps {
  chats: Chats;
  onJump: (jump: Jump) => void;
}

/** "Chats (n)": the recent chats, to find, to open, to put in order and to delete. */
export function ChatsMenu({ chats, onJump }: ChatsMenuProps) {
  const [open, setOpen] = useState(false);
  return (
    <Popover
      id={chatsMenuId}
      onToggle={setOpen}
      trigger={
        <>
          <span className="tabular-nums">{t("chat.chats", { n: chats.list.length })}</span>
          <ChevronDown aria-hidden="true" />
        </>
      }
      triggerClassName={buttonClass({ variant: "quiet" })}
      label={t("chat.recent")}
      className="w-[min(380px,calc(100vw-20px))]"
    >
      {open && (
        <Suspense>
          <ChatList chats={chats} onJump={onJump} />
        </Suspense>
      )}
    </Popover>
  );
}
