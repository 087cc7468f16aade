import { expect, test } from "vitest";
import { decideConnection, isServerUrl, type Probe } from "./connect-rule";

const tool = { name: "current_time" };
const drive = ["google_drive_list_files", "google_drive_read_file", "google_drive_create_file"];

function decide(probe: Probe, fallback: "google-drive" | "off" = "google-drive") {
  const decision = decideConnection(probe, fallback, "none listed");
  return decision.kind === "connect"
    ? { ...decision, tools: decision.tools.map(({ name }) => name) }
    : decision;
}

test("uses the tools that the server offers", () => {
  expect(decide({ kind: "answered", answer: { success: true, data: [tool], error: null } })).toEqual({
    kind: "connect",
    tools: ["current_time"],
  });
});

test("lets the built-in tools stand in when the call fails, with the reason", () => {
  expect(decide({ kind: "failed", reason: "answered 500" })).toEqual({
    kind: "connect",
    tools: drive,
    fallbackReason: "answered 500",
  });
});

test("lets the built-in tools stand in when there are none", () => {
  expect(decide({ kind: "answered", answer: { success: true, data: [] } })).toEqual({
    kind: "connect",
    tools: drive,
    fallbackReason: "none listed",
  });
  expect(
    decide({ kind: "answered", answer: { success: false, data: null, error: "refused" } }),
  ).toMatchObject({
    tools: drive,
    fallbackReason: "refused",
  });
});

test("uses the tools that come with a failure", () => {
  expect(decide({ kind: "answered", answer: { success: false, data: [tool], error: "refused" } })).toEqual({
    kind: "connect",
    tools: ["current_time"],
    fallbackReason: "refused",
  });
});

test("lets nothing stand in where the user can sign in", () => {
  const answer = { success: false, data: [tool], error: "wants you to sign in", needsSignIn: true };
  expect(decide({ kind: "answered", answer })).toEqual({ kind: "sign-in" });
});

test("refuses with the reason where nothing may stand in", () => {
  expect(decide({ kind: "failed", reason: "answered 500" }, "off")).toEqual({
    kind: "refuse",
    reason: "answered 500",
  });
  expect(decide({ kind: "answered", answer: { success: true, data: [] } }, "off")).toEqual({
    kind: "refuse",
    reason: "none listed",
  });
  expect(decide({ kind: "answered", answer: { success: true, data: [tool] } }, "off")).toMatchObject({
    kind: "connect",
  });
});

test.each([
  "http://localhost:3000/mcp",
  "HTTPS://example.com",
  "ws://127.0.0.1",
  "wss://example.com/mcp?key=1",
])("%s is the URL of a server", (url) => expect(isServerUrl(url)).toBe(true));

test.each([
  "",
  "mcp",
  "localhost:3000/mcp",
  "ftp://example.com",
  "http://",
  "http://name:word@example.com",
  `http://example.com/${"a".repeat(2_048)}`,
])("%s is none", (url) => expect(isServerUrl(url)).toBe(false));
