import { expect, test } from "vitest";
import { groupChats } from "./chat-groups";
import type { ChatSession } from "../queries";

const now = new Date(2026, 10, 21, 14, 0);

function chat(title: string, day: Date, pinned = false): ChatSession {
  const moment = day.toISOString();
  return { id: title, user_id: "", title, created_at: moment, updated_at: moment, pinned };
}

test("chats stand under the day, the week and the month of their last word, and the pinned ones above", () => {
  const list = [
    chat("later", new Date(2026, 10, 22)),
    chat("now", new Date(2026, 10, 21, 0, 0)),
    chat("late yesterday", new Date(2026, 10, 20, 23, 59), true),
    chat("yesterday", new Date(2026, 10, 20, 0, 0)),
    chat("a week ago", new Date(2026, 10, 14)),
    chat("a month ago", new Date(2026, 9, 22)),
    chat("before", new Date(2026, 9, 21)),
    chat("long ago", new Date(2025, 9, 21)),
  ];
  expect(groupChats(list, now).map(({ name, chats }) => [name, chats.map(({ title }) => title)])).toEqual([
    ["Pinned", ["late yesterday"]],
    ["Today", ["later", "now"]],
    ["Yesterday", ["yesterday"]],
    ["Previous 7 days", ["a week ago"]],
    ["Previous 30 days", ["a month ago"]],
    ["October 2026", ["before"]],
    ["October 2025", ["long ago"]],
  ]);
});
