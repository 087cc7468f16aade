import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { answerRequests, renderWithQueries } from "@/testing/render";
import type { ServerConnection } from "../server-connection";
import { ToolSwitches, estimateTokens } from "./tool-switches";

const connection: ServerConnection = {
  id: "c1",
  name: "post",
  url: "http://localhost:3000/mcp/post",
  status: "connected",
  reason: undefined,
  nextTryAt: undefined,
  tools: [{ name: "search" }, { name: "send" }],
  listedAt: undefined,
  disabledTools: [],
  usesFallback: false,
  signedIn: false,
};

test("a switch stays as the user left it until the server answers", async () => {
  const { promise: response, resolve: answer } = Promise.withResolvers<Response>();
  const requests = answerRequests((request) => (request.method === "PATCH" ? response : Response.json([])));
  await renderWithQueries(<ToolSwitches userId="u1" connection={connection} />);
  const send = page.getByRole("checkbox", { name: /^send/u });
  await send.click();
  expect((send.element() as HTMLInputElement).checked).toBe(false);
  await expect.element(page.getByText(/^1 of 2 enabled/u)).toBeVisible();
  await expect.poll(() => requests.length).toBe(1);
  expect(await requests[0]?.json()).toEqual({ tools: { send: false } });
  answer(Response.json({ error: "no" }, { status: 500 }));
  await expect.element(send).toBeChecked();
});

test("changes are sent one after another, and the last one stays", async () => {
  const { promise: first, resolve: answer } = Promise.withResolvers<Response>();
  const state = (disabledTools: string[]) => Response.json({ ...connection, disabledTools });
  let isFirstAnswered = false;
  const changes: unknown[] = [];
  answerRequests(async (request) => {
    if (request.method !== "PATCH") return Response.json([]);
    changes.push({ body: await request.json(), isFirstAnswered });
    return changes.length === 1 ? first : state([]);
  });
  await renderWithQueries(<ToolSwitches userId="u1" connection={connection} />);
  const send = page.getByRole("checkbox", { name: /^send/u });
  await send.click();
  await send.click();
  await page.getByRole("checkbox", { name: /^search/u }).click();
  expect((send.element() as HTMLInputElement).checked).toBe(true);
  isFirstAnswered = true;
  answer(state(["send"]));
  await expect
    .poll(() => changes)
    .toEqual([
      { body: { tools: { send: false } }, isFirstAnswered: false },
      { body: { tools: { send: true } }, isFirstAnswered },
      { body: { tools: { search: false } }, isFirstAnswered },
    ]);
  await expect.element(send).toBeChecked();
});

test("a tool weighs what the model is told of it", () => {
  const bare = estimateTokens({ name: "add" });
  expect(bare).toBe(13);
  const inputSchema = { type: "object", properties: { a: { type: "number" } } };
  expect(estimateTokens({ name: "add", description: "Adds.", inputSchema })).toBe(27);
  expect(estimateTokens({ name: "add", description: "Größe" })).toBeGreaterThan(bare);
});
