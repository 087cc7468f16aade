import { type ReactNode, useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { groupChats, ListGroup } from "./chat-groups";
import type { Chats } from "./use-chats";
import type { ChatSession } from "../queries";

/** Number of chats shown at first. */
const INITIAL_CHAT_COUNT = 100;

interface GroupedChatsProps {
  chats: Chats;
  renderRow: (chat: ChatSession) => ReactNode;
}

/** All chats in groups by date, and below them the archived ones. */
export function GroupedChats({ chats: { list, archived }, renderRow }: GroupedChatsProps) {
  const [all, setAll] = useState(false);
  const shown = all ? list : list.slice(0, INITIAL_CHAT_COUNT);
  return (
    <>
      {groupChats(shown).map(({ name, chats: members }) => (
        <ListGroup key={name} name={name}>
          {members.map(renderRow)}
        </ListGroup>
      ))}
      {shown.length < list.length && (
        <Button size="sm" variant="quiet" className="w-full" onClick={() => setAll(true)}>
          {t("history.showAll", { n: list.length })}
        </Button>
      )}
      {archived.length > 0 && (
        <details className="mt-1 border-t border-line pt-1">
          <summary className="flex min-h-9 items-center rounded-[9px] px-2.5 text-sm text-ink-2 select-none hover:bg-sunken in-[aside]:hover:bg-ink/5 touch:min-h-11">
            {t("history.archived", { n: archived.length })}
          </summary>
          <ul>{archived.map(renderRow)}</ul>
        </details>
      )}
    </>
  );
}
