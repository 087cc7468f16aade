import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { accessibilityFaults } from "@/testing/axe";
import { answerRequests, renderWithQueries } from "@/testing/render";
import { ContextGauge } from "./context-gauge";
import { INITIAL_STATUS } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { userMessage } from "../stream/message";

const answer = { ...userMessage("answer", "Yes.", "2026-01-01T00:00:00Z"), role: "assistant" };
const status = { ...INITIAL_STATUS, loaded: true, ids: ["answer"] };
const store = {
  status: () => status,
  subscribe: () => () => undefined,
  message: () => answer,
  isStored: () => true,
} as unknown as ChatStore;

/** Renders the gauge of a chat whose last answer used this many tokens of a model's 100,000. */
async function renderGauge(inputTokens: number, facts: object = { context: 100_000 }): Promise<Request[]> {
  const model = { id: "a/b", name: "b", provider: "a", builtIn: false, available: true, facts };
  const answers: Record<string, unknown> = {
    "/api/models": { default: "a/b", models: [model], favourites: [] },
    "/api/sessions/chat/model": { model: null },
    "/api/sessions/chat/messages/answer/usage": {
      // All three calls together read more than the context.
      answer: { inputTokens: 2 * inputTokens, outputTokens: 3_000, calls: 3 },
      lastCall: { inputTokens: inputTokens - 1_000, outputTokens: 1_000 },
    },
  };
  const requests = answerRequests(({ url }) => Response.json(answers[new URL(url).pathname]));
  await renderWithQueries(
    <main>
      <p>Chat</p>
      <ContextGauge chatId="chat" store={store} />
    </main>,
  );
  return requests;
}

const gauge = page.getByRole("button");
const usageRequests = (requests: Request[]) => requests.filter(({ url }) => url.endsWith("/usage"));

test("from half of the context on a ring says how much is used", async () => {
  await renderGauge(62_000);
  await expect.element(gauge).toHaveAccessibleName("About 62% of the context used");
  await expect.element(page.getByRole("status")).not.toBeInTheDocument();
  await gauge.click();
  await expect.element(page.getByText(/62K of the 100K tokens/u)).toBeVisible();
  await expect.element(page.getByText(/start a new chat/u)).not.toBeInTheDocument();
});

test("near the end it warns, and says what is left out", async () => {
  await renderGauge(91_000);
  await expect.element(page.getByRole("status")).toHaveTextContent("About 91% of the context used");
  await gauge.click();
  await expect
    .element(page.getByText(/the oldest files, tool results and messages are left out/u))
    .toBeVisible();
  expect(await accessibilityFaults(page.getByRole("dialog").element())).toEqual([]);
});

test("a small chat shows nothing", async () => {
  const requests = await renderGauge(20_000);
  await expect.poll(() => usageRequests(requests).length).toBe(1);
  await expect.element(gauge).not.toBeInTheDocument();
});

test("a model whose context is unknown costs no request", async () => {
  const requests = await renderGauge(91_000, {});
  await expect.poll(() => requests.length).toBe(2);
  await expect.element(gauge).not.toBeInTheDocument();
  expect(usageRequests(requests)).toEqual([]);
});
