import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Account } from "./account.ts";
import { startApp } from "./app.ts";
import { startLlama } from "./llama-server.ts";

/** Tokens that the model reads at most, the standing instructions among them. */
const context = 1_024;
const llama = await startLlama(context);
after(llama.stop);

interface Event {
  type: string;
  delta?: string;
  errorText?: string;
  data?: { text: string };
  messageId?: string;
}

/** The events of a turn, from its start to its end. */
async function turn(account: Account, sessionId: string, message: string): Promise<Event[]> {
  const response = await fetch(`${account.origin}/functions/v1/ai-chat`, {
    method: "POST",
    headers: { ...account.headers, "content-type": "application/json", accept: "text/event-stream" },
    body: JSON.stringify({ message, sessionId, tools: [] }),
  });
  assert.equal(response.status, 200);
  const lines = (await response.text()).split("\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as Event);
}

const apis = {
  "chat completions": { OPENAI_BASE_URL: `${llama.url}/v1` },
  responses: { OPENAI_BASE_URL: `${llama.url}/v1`, CHAT_OPENAI_WIRE: "responses" },
  "Anthropic's messages": { ANTHROPIC_BASE_URL: llama.url, ANTHROPIC_API_KEY: "any" },
};

for (const [api, env] of Object.entries(apis)) {
  test(`llama.cpp answers over ${api}, and what is too long for it is said`, async () => {
    const app = await startApp({ env });
    const account = await Account.create(app.url);
    const chat = await account.newChat();
    await account.call(`/api/sessions/${chat}/settings`, { maxTokens: 12, temperature: 0 }, {}, "PUT");
    const { models } = await account.call<{ models: { id: string; name: string }[] }>("/api/models");
    assert.deepEqual(
      models.map(({ name }) => name),
      ["small"],
    );

    const first = await turn(account, chat, "Say hello.");
    const said = first.map(({ delta }) => delta ?? "").join("");
    assert.ok(said.length > 0, JSON.stringify(first));
    const { answer } = await account.call<{ answer: { inputTokens: number; outputTokens: number } }>(
      `/api/sessions/${chat}/messages/${first[0]?.messageId}/usage`,
    );
    // The standing instructions are more than twenty words, and the answer may not have more tokens than were set.
    assert.ok(
      answer.inputTokens > 20 && answer.outputTokens > 0 && answer.outputTokens <= 12,
      JSON.stringify(answer),
    );

    const long = await turn(account, chat, "word ".repeat(2 * context));
    assert.ok(long.some(({ type, data }) => type === "data-notice" && data?.text.includes("left out")));
    assert.match(long.at(-1)?.errorText ?? "", /too long for this model.*Send a shorter message/u);

    // The chat goes on, without what did not fit.
    const next = await turn(account, chat, "And now?");
    assert.ok(
      next.some(({ type }) => type === "text-delta"),
      JSON.stringify(next),
    );
    await app.stop();
  });
}
