import { ChevronDown, Trash2 } from "lucide-react";
import { t } from "@/lib/t";
import { IconButton, buttonClass } from "@/ui/button";
import { closePopover, Popover } from "@/ui/popover";
import { dayOf } from "../format-time";
import type { Chats } from "./use-chats";

/** "Chats (n)": the recent chats, to open and to delete. */
export function ChatsMenu({ chats }: { chats: Chats }) {
  const { list, active } = chats;
  return (
    <Popover
      trigger={
        <>
          <span className="tabular-nums">{t("chat.chats", { n: list.length })}</span>
          <ChevronDown aria-hidden="true" />
        </>
      }
      triggerClassName={buttonClass({ variant: "quiet" })}
      label={t("chat.recent")}
      className="w-[min(340px,calc(100vw-20px))]"
    >
      <h3 className="px-2.5 pt-2.5 pb-1.5 text-xs font-normal text-ink-2">{t("chat.recent")}</h3>
      <ul>
        {list.map((chat) => (
          <li
            key={chat.id}
            className={`flex items-center gap-1 rounded-[9px] pr-1.5 text-md hover:bg-sunken ${chat.id === active?.id ? "bg-sunken" : ""}`}
          >
            <button
              type="button"
              aria-current={chat.id === active?.id || undefined}
              className="flex min-h-9.5 min-w-0 flex-1 items-center gap-2.5 rounded-[9px] py-1.5 pl-2.5 text-left touch:min-h-11"
              onClick={(event) => {
                chats.select(chat.id);
                closePopover(event.currentTarget);
              }}
            >
              <span className="min-w-0 flex-1 truncate">{chat.title}</span>
              <time dateTime={chat.updated_at} className="text-sm text-ink-2 tabular-nums">
                {dayOf(chat.updated_at)}
              </time>
            </button>
            {list.length > 1 && (
              <IconButton
                size="sm"
                label={t("chat.delete", { title: chat.title })}
                icon={<Trash2 />}
                onClick={(event) => {
                  focusNeighbour(event.currentTarget);
                  chats.remove(chat.id);
                }}
              />
            )}
          </li>
        ))}
      </ul>
    </Popover>
  );
}

/** Hands the focus to a chat beside the one that goes away, so that the keyboard does not lose its place. */
function focusNeighbour(inside: Element): void {
  const row = inside.closest("li");
  const neighbour = row?.nextElementSibling ?? row?.previousElementSibling;
  neighbour?.querySelector("button")?.focus();
}
