import { QueryObserver } from "@tanstack/react-query";
import { beforeEach, expect, test, vi } from "vitest";
import { UserQueryClient } from "@/lib/user-queries";
import { SessionListUpdater } from "./session-list-updater";
import { type ChatSession, sessionsQuery } from "../queries";

/** The chats of the server, the latest first. */
let stored: ChatSession[] = [];
/** What was read, with the number of rows that came. */
const reads: { id: string | undefined; rows: number }[] = [];
/** Holds back what is read. */
let gate: Promise<void> = Promise.resolve();
let isAway = false;

vi.mock("@/lib/api-client", () => ({ callApi: async () => ({ pinned: [], archived: [] }) }));
vi.mock("@/lib/rows", () => ({
  readRows: async (_table: string, { id }: { id?: string }) => {
    if (isAway) throw new Error("away");
    const found = stored.filter((row) => id === undefined || id.includes(row.id));
    reads.push({ id, rows: found.length });
    await gate;
    return found;
  },
}));

function chat(id: string, minute: number, title = id): ChatSession {
  const at = new Date(Date.UTC(2026, 0, 1) + minute * 60_000).toISOString();
  return { id, user_id: "u1", title, created_at: at, updated_at: at };
}

/** A page that shows a list of 1,000 chats. */
async function openList() {
  const queries = new UserQueryClient();
  new QueryObserver(queries, sessionsQuery("u1")).subscribe(() => undefined);
  const list = () => queries.getQueryData(sessionsQuery("u1").queryKey);
  await vi.waitFor(() => expect(list()).toHaveLength(1_000));
  reads.length = 0;
  return { list, queries, updater: new SessionListUpdater(queries, "u1") };
}

beforeEach(() => {
  stored = Array.from({ length: 1_000 }, (_, n) => chat(`chat-${n}-`, 1_000 - n));
  reads.length = 0;
  gate = Promise.resolve();
  isAway = false;
});

test("changes that come together load the chats that they name, and no others", async () => {
  const { list, updater } = await openList();
  const renamed = chat("chat-500-", 2_000, "Renamed");
  stored = [renamed, ...stored.filter(({ id }) => id !== renamed.id && id !== "chat-7-")];
  for (const id of ["chat-500-", "chat-7-", "chat-500-"]) updater.note(id);
  await vi.waitFor(() => expect(list()?.[0]).toMatchObject({ title: "Renamed" }));
  expect(list()?.map(({ id }) => id)).toEqual(stored.map(({ id }) => id));
  expect(reads).toEqual([{ id: "in.(chat-500-,chat-7-)", rows: 1 }]);
});

test("marks that come with a change are shown, and stay with the next one", async () => {
  const { list, updater } = await openList();
  const marks = () => list()?.find(({ id }) => id === "chat-3-");
  updater.note("chat-3-", { pinned: true });
  await vi.waitFor(() => expect(marks()).toMatchObject({ pinned: true, archived: false }));
  stored = [chat("chat-3-", 2_000, "Again"), ...stored.filter(({ id }) => id !== "chat-3-")];
  updater.note("chat-3-");
  await vi.waitFor(() => expect(marks()).toMatchObject({ title: "Again", pinned: true }));
  expect(reads.map(({ rows }) => rows)).toEqual([1, 1]);
});

test("a change while the list is being loaded waits for it", async () => {
  const { list, queries, updater } = await openList();
  const { promise, resolve } = Promise.withResolvers<void>();
  gate = promise;
  void queries.invalidateQueries({ queryKey: sessionsQuery("u1").queryKey });
  await vi.waitFor(() => expect(reads).toHaveLength(1));
  stored = [chat("new-", 2_000), ...stored];
  updater.note("new-");
  await new Promise((done) => setTimeout(done, 100));
  resolve();
  await vi.waitFor(() => expect(list()).toHaveLength(1_001));
  expect(reads).toEqual([
    { id: undefined, rows: 1_000 },
    { id: "in.(new-)", rows: 1 },
  ]);
});

test("where chats cannot be loaded, the list is loaded as soon as it can be", async () => {
  const { list, updater } = await openList();
  vi.spyOn(console, "error").mockReturnValue();
  isAway = true;
  stored = [chat("new-", 2_000), ...stored];
  updater.note("new-");
  await new Promise((done) => setTimeout(done, 100));
  isAway = false;
  await vi.waitFor(() => expect(list()).toHaveLength(1_001), { timeout: 5_000 });
});

test("what was loaded before a chat was deleted here does not bring it back", async () => {
  const { list, queries, updater } = await openList();
  const { promise, resolve } = Promise.withResolvers<void>();
  gate = promise;
  updater.note("chat-7-");
  await vi.waitFor(() => expect(reads).toHaveLength(1));
  stored = stored.filter(({ id }) => id !== "chat-7-");
  queries.setQueryData(sessionsQuery("u1").queryKey, stored);
  const lengths = new Set<number | undefined>();
  const unsubscribe = queries.getQueryCache().subscribe(() => lengths.add(list()?.length));
  resolve();
  await vi.waitFor(() => expect(reads).toHaveLength(2));
  await new Promise((done) => setTimeout(done, 100));
  unsubscribe();
  expect([...lengths]).toEqual([999]);
});
