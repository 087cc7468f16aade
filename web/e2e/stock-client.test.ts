import assert from "node:assert/strict";
import { test } from "node:test";
import {
  DefaultChatTransport,
  isToolUIPart,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import { Account, type ToolChoice } from "./account.ts";
import { call, fail, hold, say, think } from "./scripted-model.ts";
import { startServerFixture } from "./fixture.ts";

const fixture = await startServerFixture();

/** Transport of the AI SDK with the URLs of our functions. */
function transport(account: Account, tools: ToolChoice[]): DefaultChatTransport<UIMessage> {
  const headers = { ...account.headers, accept: "text/event-stream" };
  return new DefaultChatTransport({
    api: `${account.origin}/functions/v1/ai-chat`,
    headers,
    prepareSendMessagesRequest: ({ id, messages }) => ({
      headers,
      body: { sessionId: id, message: textOf(messages.at(-1)), tools },
    }),
    prepareReconnectToStreamRequest: ({ id }) => ({
      api: `${account.origin}/api/sessions/${id}/stream`,
      headers,
    }),
  });
}

function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");
}

function question(text: string): UIMessage {
  return { id: crypto.randomUUID(), role: "user", parts: [{ type: "text", text }] };
}

function ask(client: DefaultChatTransport<UIMessage>, chatId: string, text: string) {
  return client.sendMessages({
    chatId,
    messages: [question(text)],
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  });
}

async function last(stream: ReadableStream<UIMessageChunk>): Promise<UIMessage> {
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream, terminateOnError: true })) message = state;
  assert.ok(message);
  return message;
}

test("the AI SDK's own client reads a turn with reasoning, a tool and text", async () => {
  const account = await Account.create(fixture.app.url);
  const tools = await account.connectToolbox();
  const chat = await account.newChat();
  fixture.model.answer(think("A sum."), call("calculate", { expression: "6 * 7" }));
  fixture.model.answer(say("It is **42**."));
  const message = await last(await ask(transport(account, tools), chat, "What is 6 times 7?"));
  assert.equal(message.role, "assistant");
  assert.equal(textOf(message), "It is **42**.");
  assert.ok(message.parts.some((part) => part.type === "reasoning" && part.text === "A sum."));
  const tool = message.parts.find(isToolUIPart);
  assert.ok(tool?.type === "dynamic-tool" && tool.state === "output-available");
  assert.deepEqual([tool.toolName, tool.input], ["calculate", { expression: "6 * 7" }]);
  assert.match(JSON.stringify(tool.output), /42/u);
  const [stored] = await account.call<{ id: string }[]>(
    `/rest/v1/ai_chat_messages?select=id&session_id=eq.${chat}&role=eq.assistant`,
  );
  assert.equal(message.id, stored?.id, "the message has the id of the stored one");
});

test("the AI SDK's own client shows a tool that fails and a model that fails", async () => {
  const account = await Account.create(fixture.app.url);
  const tools = await account.connectToolbox();
  const client = transport(account, tools);
  fixture.model.answer(call("calculate", '{"expression": '));
  fixture.model.answer(say("That did not work."));
  const message = await last(await ask(client, await account.newChat(), "Try"));
  const tool = message.parts.find(isToolUIPart);
  assert.equal(tool?.state, "output-error");
  assert.equal(textOf(message), "That did not work.");

  fixture.model.answer(fail(400, "the model has a headache"));
  const failed = ask(client, await account.newChat(), "Try").then(last);
  await assert.rejects(failed, /the model has a headache/u);
});

test("the AI SDK's own client takes up a running turn from its start, and finds none afterwards", async () => {
  const account = await Account.create(fixture.app.url);
  const client = transport(account, []);
  const chat = await account.newChat();
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(say("First half, "), hold(rest.promise), say("second half."));
  const first = await ask(client, chat, "Tell me");
  await first.cancel();
  const again = await client.reconnectToStream({ chatId: chat });
  assert.ok(again);
  rest.resolve();
  assert.equal(textOf(await last(again)), "First half, second half.");
  assert.equal(await client.reconnectToStream({ chatId: chat }), null);
});
