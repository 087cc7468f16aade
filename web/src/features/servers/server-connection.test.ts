import { expect, test } from "vitest";
import type { Connection } from "@/lib/connection";
import { availableTools, mergeConnections, statusTone, type StoredServer } from "./server-connection";

const row: StoredServer = {
  id: "1",
  name: "notes",
  url: "http://127.0.0.1:1/mcp",
  tools: [{ name: "search", description: "Finds." }],
  status: "connected",
  created_at: "2026-01-02T00:00:00Z",
};
const live: Connection = {
  id: "1",
  name: "notes",
  url: row.url,
  status: "error",
  reason: "refused the connection",
  tools: [],
  toolsFrom: "server",
};

test("a stored row counts as connected until its live state is known", () => {
  const list = mergeConnections([row], []);
  expect(list[0]?.status).toBe("connected");
  expect(availableTools(list)).toEqual([{ name: "search", description: "Finds.", serverName: "notes" }]);
});

test("the live state goes before the stored one", () => {
  const list = mergeConnections([row], [live]);
  expect(list[0]).toMatchObject({ status: "error", reason: "refused the connection" });
  expect(availableTools(list)).toEqual([]);
});

test("tools that stand in are available although the server failed", () => {
  const standIn: Connection = {
    ...live,
    toolsFrom: "fallback",
    tools: [{ name: "google_drive_list_files" }],
  };
  expect(availableTools(mergeConnections([row], [standIn])).map(({ name }) => name)).toEqual([
    "google_drive_list_files",
  ]);
});

test("a tool's title comes from where its server put it", () => {
  const tools = [
    { name: "a", title: "First" },
    { name: "b", annotations: { title: "Second" } },
    { name: "c", title: "" },
  ];
  const list = availableTools(mergeConnections([{ ...row, tools }], []));
  expect(list.map(({ title }) => title)).toEqual(["First", "Second", undefined]);
});

test("what only a server's apps may call is not offered to the assistant", () => {
  const seenBy = (name: string, visibility: unknown) => ({ name, _meta: { ui: { visibility } } });
  const tools = [
    { name: "plain" },
    seenBy("both", ["app", "model"]),
    seenBy("inner", ["app"]),
    seenBy("odd", "app"),
  ];
  const list = availableTools(mergeConnections([{ ...row, tools }], []));
  expect(list.map(({ name }) => name)).toEqual(["plain", "both", "odd"]);
});

test("connections stand in the order in which they were made", () => {
  const older = { ...row, id: "2", name: "older", created_at: "2026-01-01T00:00:00Z" };
  expect(mergeConnections([row, older], []).map(({ name }) => name)).toEqual(["older", "notes"]);
});

test("every status has its colour, and unknown ones are grey", () => {
  expect(["connected", "connecting", "error", "idle"].map(statusTone)).toEqual([
    "ok",
    "warn",
    "err",
    "neutral",
  ]);
});

test("what is switched off is not offered", () => {
  const tools = [{ name: "a" }, { name: "b" }];
  const connected: Connection = { ...live, status: "connected", tools, disabledTools: ["a"] };
  expect(availableTools(mergeConnections([row], [connected])).map(({ name }) => name)).toEqual(["b"]);
});

test("a connection that got another name has it before its row is read again", () => {
  expect(mergeConnections([row], [{ ...live, name: "other" }])[0]?.name).toBe("other");
});
