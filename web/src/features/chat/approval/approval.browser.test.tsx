import { afterEach, expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { answerRequests, pathsOf, renderWithQueries } from "@/testing/render";
import { Approval, ApprovalGroupFoot, ApprovalGroupHead, formatWaitingTime } from "./approval";
import { ChatId } from "../chat-context";
import type { ApprovalRequest, ToolPart } from "../stream/message";

const part: ToolPart = {
  type: "dynamic-tool",
  toolCallId: "call-1",
  toolName: "delete_file",
  serverName: "disk",
  state: "approval-requested",
  inputText: "",
  input: { path: "/tmp/a" },
};

const accept = () => answerRequests(() => new Response(null, { status: 204 }));

const renderApproval = (approval: Partial<ApprovalRequest> = {}) =>
  renderWithQueries(
    <ChatId value="chat-1">
      <Approval part={part} approval={{ id: "approval-1", definition: {}, ...approval }} />
    </ChatId>,
  );

const button = (name: string) => page.getByRole("button", { name });

test.each([
  ["Allow once", "once"],
  ["Always allow", "always"],
  ["Deny", "deny"],
])("%s sends that decision", async (name, decision) => {
  const requests = accept();
  await renderApproval();
  await button(name).click();
  expect(pathsOf(requests)).toEqual(["/api/sessions/chat-1/approvals/approval-1"]);
  expect(await requests[0]?.json()).toEqual({ decision });
});

const acceptAll = () => answerRequests(() => Response.json({ permissions: [] }));
const readOnly = { annotations: { readOnlyHint: true } };

test("allows all read-only tools of the server before this call", async () => {
  const requests = acceptAll();
  await renderApproval({ definition: readOnly, connectionId: "one", serverName: "disk" });
  await button("Always allow read-only tools of disk").click();
  await expect
    .poll(() => pathsOf(requests))
    .toEqual(["/api/connections/one/permissions", "/api/sessions/chat-1/approvals/approval-1"]);
  expect(await requests[0]?.json()).toEqual({ tools: "read-only", permission: "always" });
  expect(await requests[1]?.json()).toEqual({ decision: "always" });
});

test.each([
  ["a tool that may write", { definition: {} }],
  ["a tool that has changed", { definition: readOnly, before: { description: "Reads a file" } }],
])("does not offer it for %s", async (_, approval) => {
  await renderApproval({ ...approval, connectionId: "one", serverName: "disk" });
  await expect.element(button("Allow once")).toBeVisible();
  await expect.element(button("Always allow read-only tools of disk")).not.toBeInTheDocument();
});

test("a group allows the read-only tools of its only server, and leaves the others waiting", async () => {
  const requests = acceptAll();
  const of = (id: string, definition: object) => ({
    id,
    definition,
    connectionId: "one",
    serverName: "disk",
  });
  await renderWithQueries(
    <ChatId value="chat-1">
      <ApprovalGroupFoot
        approvals={[of("a", readOnly), of("b", {}), of("c", readOnly)] as ApprovalRequest[]}
      />
    </ChatId>,
  );
  await button("Always allow read-only tools of disk").click();
  await expect
    .poll(() => pathsOf(requests))
    .toEqual([
      "/api/connections/one/permissions",
      "/api/sessions/chat-1/approvals/a",
      "/api/sessions/chat-1/approvals/c",
    ]);
});

afterEach(() => vi.useRealTimers());

test("the head of a group shows how long its oldest request waits, but not to screen readers", async () => {
  vi.useFakeTimers({ now: Date.parse("2026-11-21T10:00:40Z") });
  // The server's ids begin with their time in milliseconds: 10:00:00 and 10:00:30.
  const oldest: ApprovalRequest = { id: "01a1fd8c-6900-7000-8000-000000000000", definition: {} };
  const newest: ApprovalRequest = { id: "01a1fd8c-de30-7000-8000-000000000000", definition: {} };
  await renderWithQueries(<ApprovalGroupHead approvals={[newest, oldest]} />);
  await vi.advanceTimersByTimeAsync(2_000);
  await expect.element(page.getByText("0:42")).toBeVisible();
  await expect
    .element(page.getByRole("heading", { name: "2 tool calls need your approval", exact: true }))
    .toBeVisible();
});

test("a request whose id has no time, or one of a clock that is ahead, waits from now on", async () => {
  vi.useFakeTimers({ now: Date.parse("2026-11-21T09:59:59Z") });
  const { rerender } = await renderWithQueries(
    <ApprovalGroupHead approvals={[{ id: "an id", definition: {} }]} />,
  );
  await vi.advanceTimersByTimeAsync(3_000);
  await expect.element(page.getByText("0:03")).toBeVisible();
  await rerender(
    <ApprovalGroupHead approvals={[{ id: "01a1fd8c-de30-7000-8000-000000000000", definition: {} }]} />,
  );
  await expect.element(page.getByText("0:00")).toBeVisible();
});

test("a waiting time is formatted as a clock does", () => {
  expect([0, 42, 600, 3_723].map(formatWaitingTime)).toEqual(["0:00", "0:42", "10:00", "1:02:03"]);
});

test("takes no focus, and Enter decides nothing", async () => {
  const requests = accept();
  await renderApproval();
  await userEvent.keyboard("{Enter}");
  expect(document.activeElement).toBe(document.body);
  expect(requests).toEqual([]);
});

test("sends edited arguments, and refuses what is no JSON object", async () => {
  const requests = accept();
  await renderApproval();
  await button("Edit arguments").click();
  const editor = page.getByRole("textbox", { name: "Arguments" });
  await editor.fill("[1]");
  await button("Allow once").click();
  await expect.element(editor).toHaveAccessibleDescription("The arguments must be a JSON object.");
  expect(requests).toEqual([]);
  await editor.fill('{"path": "/tmp/b"}');
  await button("Allow once").click();
  expect(await requests[0]?.json()).toEqual({ decision: "once", arguments: { path: "/tmp/b" } });
});

test("shows what the server claims, and what it has changed", async () => {
  await renderApproval({
    definition: { description: "Deletes a file", annotations: { destructiveHint: true } },
    before: { description: "Reads a file", annotations: { destructiveHint: true } },
  });
  await expect
    .element(page.getByText("According to disk, this tool may delete or overwrite data. Not verified."))
    .toBeVisible();
  await expect.element(page.getByText(/has changed since you chose/u)).toBeVisible();
  const change = page.getByRole("group", { name: "Description" });
  await expect.element(change).toHaveTextContent("Removed: Reads Added: Deletes a file");
});

test("says why a decision was refused", async () => {
  answerRequests(() =>
    Response.json({ error: { code: "gone", message: "The turn has ended." } }, { status: 409 }),
  );
  await renderApproval();
  await button("Allow once").click();
  await expect.element(page.getByRole("alert")).toMatchTextContent("The turn has ended.");
});
