import { UnfinishedOpening } from "./unfinished-opening";
import type { Chats } from "./use-chats";
import { OfflineStart } from "../transcript/offline-start";
import type { ScrollTarget } from "../transcript/scroll-controller";

interface NoOpenChatProps {
  chats: Chats;
  onReveal: (jump: ScrollTarget) => void;
}

/** Shown in place of a chat: the list after an opening that did not finish, or that there is no network. */
export function NoOpenChat({ chats, onReveal }: NoOpenChatProps) {
  if (chats.unfinished)
    return <UnfinishedOpening chats={chats} chat={chats.unfinished} onReveal={onReveal} />;
  return <OfflineStart />;
}
