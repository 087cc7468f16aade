import { QueryClient } from "@tanstack/react-query";
import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { accessibilityFaults } from "@/testing/axe";
import { answerRequests, renderWithQueries } from "@/testing/render";
import { connectToasts, type Toast } from "@/ui/toast";
import { ChatRegistry } from "../chat-registry";
import { ChatSelection } from "./chat-selection";
import type { Chats } from "./use-chats";
import type { ChatSession } from "../queries";

const chat = (id: string): ChatSession => ({
  id,
  user_id: "ada",
  title: `Chat ${id}`,
  created_at: "2026-01-01T00:00:00Z",
  updated_at: "2026-01-01T00:00:00Z",
});

const nothing = () => undefined;

function chatsOf(list: readonly ChatSession[], more: Partial<Chats> = {}): Chats {
  return {
    list,
    archived: [],
    active: list[0],
    unfinished: undefined,
    loading: false,
    temporary: null,
    creating: false,
    registry: new ChatRegistry(new QueryClient(), "ada"),
    userId: "ada",
    select: nothing,
    create: nothing,
    openTemporary: nothing,
    endTemporary: nothing,
    change: nothing,
    ...more,
  };
}

const five = ["1", "2", "3", "4", "5"].map(chat);
const box = (name: string) => page.getByRole("checkbox", { name, exact: true });
const button = (name: string) => page.getByRole("button", { name, exact: true });
const accept = () => new Response(null, { status: 204 });

async function renderSelection(chats: Chats, onEnd: () => void = nothing): Promise<void> {
  await renderWithQueries(
    <div>
      <ChatSelection chats={chats} first={undefined} compact onEnd={onEnd} />
    </div>,
  );
}

test("Shift and a click selects a range, and the count is announced", async () => {
  await renderSelection(chatsOf(five));
  await box("Chat 2").click();
  await box("Chat 4").click({ modifiers: ["Shift"] });
  await expect.element(page.getByRole("status")).toHaveTextContent("3 selected");
  await expect.element(box("Chat 3")).toBeChecked();
  await expect.element(box("Chat 5")).not.toBeChecked();
  await expect.element(box("Select all")).toHaveAttribute("aria-checked", "mixed");
  await box("Chat 3").click();
  await expect.element(page.getByRole("status")).toHaveTextContent("2 selected");
});

test("all are selected and deselected, by the box and by the keyboard", async () => {
  await renderSelection(chatsOf(five));
  await box("Select all").click();
  await expect.element(page.getByRole("status")).toHaveTextContent("5 selected");
  await box("Select all").click();
  await expect.element(page.getByRole("status")).toHaveTextContent("0 selected");
  await expect.element(button("Delete")).toBeDisabled();
  await userEvent.keyboard("{Control>}a{/Control}");
  await expect.element(page.getByRole("status")).toHaveTextContent("5 selected");
});

test("one question names the number, and Cancel deletes nothing", async () => {
  const requests = answerRequests(accept);
  await renderSelection(chatsOf(five));
  await box("Chat 2").click();
  await box("Chat 3").click();
  await button("Delete").click();
  await expect.element(page.getByRole("group", { name: "Delete 2 chats?" })).toBeVisible();
  await expect.element(button("Cancel")).toHaveFocus();
  expect(await accessibilityFaults(page.getByRole("group", { name: "Select chats" }).element())).toEqual([]);
  await button("Cancel").click();
  await expect.element(button("Archive")).toBeVisible();
  expect(requests).toEqual([]);
});

test("chats that could not be deleted stay selected and are marked, and the others are gone", async () => {
  answerRequests(({ url }) =>
    new URL(url).searchParams.get("id") === "eq.3"
      ? Response.json({ message: "The database is busy." }, { status: 503 })
      : accept(),
  );
  const shown: Toast[] = [];
  const disconnect = connectToasts({ show: (toast) => shown.push(toast), clear: nothing });
  const change = vi.fn<Chats["change"]>();
  const select = vi.fn<Chats["select"]>();
  const onEnd = vi.fn<() => void>();
  await renderSelection(chatsOf(five, { change, select }), onEnd);
  for (const name of ["Chat 1", "Chat 3", "Chat 4"]) await box(name).click();
  await button("Delete").click();
  await page.getByRole("group", { name: "Delete 3 chats?" }).getByRole("button", { name: "Delete" }).click();
  await expect.element(page.getByRole("status")).toHaveTextContent("1 selected");
  await expect.element(page.getByRole("checkbox", { name: "Chat 3 Failed" })).toBeChecked();
  expect(change.mock.calls[0]?.[0](five).map(({ id }) => id)).toEqual(["2", "3", "5"]);
  // The open chat is one of the deleted ones.
  expect(select).toHaveBeenCalledExactlyOnceWith("2");
  disconnect();
  expect(shown.map(({ title }) => title)).toEqual(["2 chats deleted", "1 of 3 chats couldn't be deleted"]);
  expect(onEnd).not.toHaveBeenCalled();
});

test("archived chats alone are taken out of the archive", async () => {
  const requests = answerRequests(accept);
  const onEnd = vi.fn<() => void>();
  const archived = { ...chat("old"), archived: true };
  await renderSelection(chatsOf(five, { archived: [archived] }), onEnd);
  await page.getByText("Archived (1)").click();
  await box("Chat old").click();
  await button("Unarchive").click();
  await expect.poll(() => onEnd.mock.calls.length).toBe(1);
  expect(requests.map(({ method, url }) => `${method} ${new URL(url).pathname}`)).toEqual([
    "PUT /api/sessions/old/marks",
  ]);
  expect(await requests[0]?.json()).toEqual({ archived: false });
});

test("Escape leaves the question first, then the selection", async () => {
  const onEnd = vi.fn<() => void>();
  await renderSelection(chatsOf(five), onEnd);
  await box("Chat 2").click();
  await button("Delete").click();
  await userEvent.keyboard("{Escape}");
  await expect.element(button("Archive")).toBeVisible();
  expect(onEnd).not.toHaveBeenCalled();
  await box("Chat 2").click();
  await userEvent.keyboard("{Escape}");
  expect(onEnd).toHaveBeenCalledOnce();
});
