import { type ReactNode, useId } from "react";
import { formatDate } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import type { ChatSession } from "../queries";

/** Group of chats with a heading. */
interface ChatGroup {
  readonly name: string;
  readonly chats: readonly ChatSession[];
}

const DAY_MS = 86_400_000;

/** Groups chats by the day of their last message, keeping their order; pinned ones come first. */
export function groupChats(chats: readonly ChatSession[], now = new Date()): readonly ChatGroup[] {
  const groups = new Map<string, ChatSession[]>();
  const add = (name: string, chat: ChatSession) => {
    const group = groups.get(name);
    if (group) group.push(chat);
    else groups.set(name, [chat]);
  };
  for (const chat of chats) if (chat.pinned) add(t("history.pinned"), chat);
  for (const chat of chats) if (!chat.pinned) add(ageOf(chat.updated_at, now), chat);
  return [...groups].map(([name, members]) => ({ name, chats: members }));
}

function ageOf(moment: string, now: Date): string {
  const date = new Date(moment);
  const days = Math.round((midnight(now) - midnight(date)) / DAY_MS);
  if (days <= 0) return t("history.today");
  if (days === 1) return t("history.yesterday");
  if (days <= 7) return t("history.week");
  return days <= 30 ? t("history.month") : formatDate(date, { month: "long", year: "numeric" });
}

function midnight(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}

/** Heading with a list of chats or messages. */
export function ListGroup({ name, children }: { name: string; children: ReactNode }) {
  const id = useId();
  return (
    <div role="group" aria-labelledby={id} className="pb-1">
      <h4
        id={id}
        className="px-2.5 pt-1.5 pb-1 text-xs font-normal text-ink-3 in-[aside]:pt-3 in-[aside]:text-ink-2"
      >
        {name}
      </h4>
      <ul>{children}</ul>
    </div>
  );
}
