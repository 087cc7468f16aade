import { Ellipsis, PanelLeftOpen, Plus, Share } from "lucide-react";
import { Suspense } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { Button, IconButton, iconButtonClass } from "@/ui/button";
import { Popover } from "@/ui/popover";
import { ChatsMenu, showSidebarId } from "./chats-menu";
import type { Chats } from "./use-chats";
import { type ChatSession, shownTitle } from "../queries";
import type { ScrollTarget } from "../transcript/scroll-controller";

interface ChatHeadProps {
  chats: Chats;
  onNew: () => void;
  onReveal: (jump: ScrollTarget) => void;
  /** Shows the hidden sidebar; absent if it is shown or has no room. */
  onShowSidebar: (() => void) | undefined;
}

const OpenChatMenu = lazyPart(async () => (await import("./open-chat-menu")).OpenChatMenu);
const TemporaryBar = lazyPart(async () => (await import("./temporary-bar")).TemporaryBar);

/** Header of the chat: its title, the list of chats, and New Chat. */
export function ChatHead({ chats, onNew, onReveal, onShowSidebar }: ChatHeadProps) {
  return (
    <div data-head="">
      <div className="flex items-center gap-1.5 border-b border-line px-5 py-2 max-phone:gap-0 short:py-0 max-wide:py-1 max-wide:pr-1.5 max-wide:pl-3.5">
        {onShowSidebar && (
          <IconButton
            id={showSidebarId}
            label={t("chat.sidebar.show")}
            icon={<PanelLeftOpen />}
            onClick={onShowSidebar}
            className="-ml-2"
          />
        )}
        <h2 className="mr-auto flex min-w-0 items-center gap-2.5 overflow-hidden text-[0.9375rem]">
          <span className="truncate">{t("chat.title")}</span>
          <span dir="auto" className="truncate font-normal text-ink-2 max-wide:sr-only">
            {chats.active && shownTitle(chats.active)}
          </span>
        </h2>
        {chats.active && !chats.temporary && <OpenChatActions chat={chats.active} chats={chats} />}
        <ChatsMenu chats={chats} onReveal={onReveal} />
        <Button
          aria-label={t("chat.new")}
          disabled={chats.creating}
          onClick={onNew}
          className="max-wide:w-11 max-wide:px-0"
        >
          <Plus aria-hidden="true" />
          <span className="max-wide:sr-only">{t("chat.new")}</span>
        </Button>
      </div>
      {chats.temporary && (
        <Suspense>
          <TemporaryBar key={chats.temporary.id} id={chats.temporary.id} chats={chats} />
        </Suspense>
      )}
    </div>
  );
}

/** Share button and menu of the open chat. On small screens the menu alone. */
function OpenChatActions({ chat, chats }: { chat: ChatSession; chats: Chats }) {
  return (
    <>
      <Popover
        trigger={<Share aria-hidden="true" />}
        triggerLabel={t("chat.share")}
        triggerClassName={`${iconButtonClass()} max-wide:hidden`}
        label={t("chat.share")}
        className="w-[min(360px,calc(100vw-20px))]"
      >
        <Suspense>
          <OpenChatMenu key={chat.id} chat={chat} chats={chats} form="share" />
        </Suspense>
      </Popover>
      <Popover
        trigger={<Ellipsis aria-hidden="true" />}
        triggerLabel={t("chat.more")}
        triggerClassName={iconButtonClass()}
        label={t("chat.more")}
        className="w-[min(300px,calc(100vw-20px))]"
      >
        <Suspense>
          <OpenChatMenu key={chat.id} chat={chat} chats={chats} />
        </Suspense>
      </Popover>
    </>
  );
}
