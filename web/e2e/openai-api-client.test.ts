import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI, { APIError } from "openai";
import { Account } from "./account.ts";
import { allowAll } from "./permission.ts";
import { breakOff, call, fail, say, think } from "./scripted-model.ts";
import { startServerFixture } from "./fixture.ts";

const fixture = await startServerFixture();
const model = "openai/scripted";
const question = { role: "user", content: "What time is it?" } as const;
const clock = {
  type: "function",
  function: { name: "clock", parameters: { type: "object", properties: { zone: { type: "string" } } } },
} as const;

/** Creates an account and the official client with one of its API keys. */
async function client(...scopes: string[]): Promise<{ account: Account; openai: OpenAI }> {
  const account = await Account.create(fixture.app.url);
  const { secret } = await account.call<{ secret: string }>("/api/keys", { name: "Client", scopes });
  return { account, openai: new OpenAI({ apiKey: secret, baseURL: `${fixture.app.url}/v1`, maxRetries: 0 }) };
}

/** Returns the error of a refused call. */
async function refusal(work: Promise<unknown>): Promise<APIError> {
  try {
    await work;
  } catch (error) {
    assert.ok(error instanceof APIError);
    return error;
  }
  throw new Error("it was not refused");
}

test("the official client lists the models, and those with tools for a key that may use them", async () => {
  const ids = async (...scopes: string[]) => {
    const { openai } = await client(...scopes);
    return (await Array.fromAsync(await openai.models.list())).map(({ id }) => id);
  };
  assert.deepEqual(await ids("chat"), [model]);
  assert.deepEqual(await ids("chat", "tools"), [model, `${model}:tools`]);
  const { openai } = await client("chat");
  assert.equal((await openai.models.retrieve(model)).id, model);
  assert.equal((await refusal(openai.models.retrieve(`${model}:tools`))).status, 404);
});

test("the official client gets a whole answer, and the default model by its name", async () => {
  const { openai } = await client("chat");
  fixture.model.answer(think("Hm."), say("Noon."));
  const answer = await openai.chat.completions.create({ model: "default", messages: [question] });
  assert.equal(answer.choices[0]?.message.content, "Noon.");
  assert.equal(answer.choices[0]?.finish_reason, "stop");
  assert.equal(answer.model, model);
  assert.equal(answer.usage?.total_tokens, 130);
});

test("the official client streams an answer, with what it cost", async () => {
  const { openai } = await client("chat");
  fixture.model.answer(say("It is noon, more or less."));
  const stream = openai.chat.completions.stream({
    model,
    messages: [question],
    stream_options: { include_usage: true },
  });
  let pieces = 0;
  stream.on("content", () => (pieces += 1));
  const whole = await stream.finalChatCompletion();
  assert.equal(whole.choices[0]?.message.content, "It is noon, more or less.");
  assert.ok(pieces > 1, "it came in pieces");
  assert.equal(whole.usage?.completion_tokens, 10);
});

test("the official client runs tools of its own, streamed, in parallel and by itself", async () => {
  const { openai } = await client("chat");
  fixture.model.answer(call("clock", { zone: "UTC" }), call("clock", { zone: "CET" }));
  fixture.model.answer(say("Noon, and one o'clock."));
  const asked: string[] = [];
  const runner = openai.chat.completions.runTools({
    model,
    stream: true,
    messages: [question],
    tools: [
      {
        type: "function",
        function: {
          name: "clock",
          description: "Tells the time.",
          parameters: clock.function.parameters,
          parse: JSON.parse,
          function: ({ zone }: { zone: string }) => {
            asked.push(zone);
            return "noon";
          },
        },
      },
    ],
  });
  assert.equal(await runner.finalContent(), "Noon, and one o'clock.");
  assert.deepEqual(asked, ["UTC", "CET"]);
  const [, second] = fixture.model.requests.slice(-2);
  assert.deepEqual(
    second?.messages.map(({ role }) => role),
    ["user", "assistant", "tool", "tool"],
  );
});

test("the person's own tools answer, under their permissions", async () => {
  const { account, openai } = await client("chat", "tools");
  await account.connectToolbox();
  await allowAll(account, "toolbox");
  fixture.model.answer(call("calculate", { expression: "6*7" }));
  fixture.model.answer(say("42."));
  const ask = () =>
    openai.chat.completions.create({
      model: `${model}:tools`,
      messages: [{ role: "user", content: "What is 6*7?" }],
    });
  assert.equal((await ask()).choices[0]?.message.content, "42.");

  const { permissions } = await account.call<{ permissions: { connectionId: string; tool: string }[] }>(
    "/api/tools/permissions",
  );
  const known = permissions.find(({ tool }) => tool === "calculate");
  await account.call("/api/tools/permissions", { ...known, permission: "ask" }, {}, "PUT");
  fixture.model.answer(call("calculate", { expression: "6*7" }));
  const refused = await refusal(ask());
  assert.equal(refused.status, 403);
  assert.equal(refused.code, "tool_needs_approval");
  assert.match(refused.message, /calculate of toolbox needs an approval.* Allow or block it in the app/u);
});

test("the official client's responses are whole, streamed, and call its own functions", async () => {
  const { openai } = await client("chat");
  fixture.model.answer(think("Hm."), say("Noon."));
  const whole = await openai.responses.create({
    model: "default",
    instructions: "Be brief.",
    input: "Time?",
  });
  assert.equal(whole.output_text, "Noon.");
  assert.equal(whole.usage?.total_tokens, 130);

  const tool = { ...clock.function, type: "function", strict: null } as const;
  fixture.model.answer(call("clock", { zone: "UTC" }), call("clock", { zone: "CET" }));
  const asked = await openai.responses.stream({ model, input: [question], tools: [tool] }).finalResponse();
  const calls = asked.output.filter((item) => item.type === "function_call");
  assert.deepEqual(
    calls.map((item) => item.arguments),
    ['{"zone":"UTC"}', '{"zone":"CET"}'],
  );
  fixture.model.answer(think("Two zones."), say("Noon, and one o'clock."));
  const stream = openai.responses.stream({
    model,
    input: [
      question,
      ...calls.map(({ call_id, name, arguments: text }) => {
        return { type: "function_call", call_id, name, arguments: text } as const;
      }),
      ...calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "noon" }) as const),
    ],
    tools: [tool],
  });
  let pieces = 0;
  stream.on("response.output_text.delta", () => (pieces += 1));
  assert.equal((await stream.finalResponse()).output_text, "Noon, and one o'clock.");
  assert.ok(pieces > 1, "it came in pieces");

  fixture.model.answer(fail(404, "no such model"));
  const refused = await refusal(openai.responses.create({ model, input: "Time?" }));
  assert.equal(refused.code, "model_not_found");
});

test("what goes wrong reaches the official client as its own errors", async () => {
  const { openai } = await client("chat");
  const ask = (name = model) =>
    refusal(openai.chat.completions.create({ model: name, messages: [question] }));
  fixture.model.answer(fail(404, "no such model"));
  assert.equal((await ask()).code, "model_not_found");
  assert.equal((await ask("nobody/nothing")).status, 404);
  fixture.model.answer(fail(400, "maximum context length"));
  assert.equal((await ask()).code, "context_length_exceeded");
  fixture.model.answer(fail(401, "Incorrect key"));
  assert.equal((await ask()).status, 502, "the key of the provider is not the caller's");
  const stranger = new OpenAI({ apiKey: "sk-chat-nobodys", baseURL: openai.baseURL, maxRetries: 0 });
  const refused = await refusal(stranger.chat.completions.create({ model, messages: [question] }));
  assert.equal(refused.status, 401);
  fixture.model.answer(say("Half of it"), breakOff);
  const stream = openai.chat.completions.stream({ model, messages: [question] });
  const broken = await refusal(stream.finalChatCompletion());
  assert.match(broken.message, /the connection closed before the response was complete/u);
});
