import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, describe, test } from "node:test";
import { startApp } from "./app.ts";
import { allowAll } from "./permission.ts";
import { breakOff, call, fail, hold, raw, say, type Step, think } from "./scripted-model.ts";
import { cost, seal } from "./scripted-wires/speech.ts";
import { openStage, type Stage } from "./stage.ts";

const key = "sk-not-to-be-seen";

/** How a server of each wire is set, and whether the wire wants thoughts back. */
const wires = [
  {
    wire: "OpenAI responses",
    provider: "openai",
    path: "/v1",
    base: "OPENAI_BASE_URL",
    key: "OPENAI_API_KEY",
    env: { CHAT_OPENAI_WIRE: "responses" },
    seals: true,
  },
  {
    wire: "chat completions",
    provider: "openai",
    path: "/v1",
    base: "OPENAI_BASE_URL",
    key: "OPENAI_API_KEY",
    env: { CHAT_OPENAI_WIRE: "chat" },
    seals: false,
  },
  {
    wire: "Anthropic messages",
    provider: "anthropic",
    path: "",
    base: "ANTHROPIC_BASE_URL",
    key: "ANTHROPIC_API_KEY",
    env: {},
    seals: true,
  },
  {
    wire: "Gemini",
    provider: "gemini",
    path: "",
    base: "GEMINI_BASE_URL",
    key: "GEMINI_API_KEY",
    env: {},
    seals: true,
  },
  {
    wire: "Ollama",
    provider: "ollama",
    path: "",
    base: "OLLAMA_HOST",
    key: undefined,
    env: {},
    seals: false,
  },
] as const;

const stage: Stage = await openStage();

/** The app over one wire, to the stage's model. */
async function appOver({ base, key: name, path, env }: (typeof wires)[number]) {
  const settings: Record<string, string> = { ...env, [base]: stage.model.origin + path };
  if (name) settings[name] = key;
  const app = await startApp({ env: settings });
  after(() => app.stop());
  return app;
}

/** What can go wrong with a provider, and what the page says of it. */
const faults: { name: string; steps: Step[]; says: RegExp }[] = [
  {
    name: "a wrong key",
    steps: [fail(401, "Incorrect key")],
    says: /refused the key: Incorrect key\. Whoever runs this service has to renew the key/u,
  },
  {
    name: "no credit",
    steps: [fail(402, "Top up")],
    says: /wants to be paid first: Top up\. Whoever runs this service has to look at the account/u,
  },
  {
    name: "an unknown model",
    steps: [fail(404, "no such model")],
    says: /does not know the model: no such model\. Whoever runs this service has to choose another/u,
  },
  {
    name: "garbage",
    steps: [raw("data: {]\n\n")],
    says: /could not be read: .* whoever runs this service has to look at/u,
  },
  {
    name: "an end in the middle",
    steps: [say("Half of it"), breakOff],
    says: /the connection closed before the response was complete/u,
  },
];

for (const wire of wires) {
  describe(`over ${wire.wire}`, async () => {
    const app = await appOver(wire);

    test("text, thoughts and tools come through, and the next turn knows them", async (t) => {
      const { account, visitor } = await stage.member(t, { origin: app.url });
      await account.connectToolbox();
      await allowAll(account, "toolbox");
      stage.model.answer(
        think("This wants arithmetic."),
        call("calculate", { expression: "12.5*8" }),
        call("calculate", { expression: "7*6" }),
      );
      stage.model.answer(think("Both are there."), say("They are **100** and 42."));
      await visitor.open();
      await visitor.ask("What is 12.5*8, and 7*6?");
      await visitor.answered();
      await visitor.answers.getByText("They are 100 and 42.").waitFor();
      assert.equal(await visitor.toolCall("calculate").count(), 2);
      for (const state of await visitor.toolCall("calculate").all())
        assert.equal(await state.getAttribute("data-state"), "done");
      const thought = visitor.answers.locator("details").filter({ hasText: "This wants arithmetic." });
      await thought.locator("summary").click();
      await thought.getByText("This wants arithmetic.").waitFor();

      stage.model.answer(say("You are welcome."));
      await visitor.ask("Thanks");
      await visitor.answers.getByText("You are welcome.").waitFor();
      const [first, second, third] = stage.model.requests.map((request) => JSON.stringify(request));
      assert.equal(first?.includes(seal), false);
      assert.equal(second?.includes(seal), wire.seals, "a sealed thought goes back with its call");
      assert.equal(third?.includes(seal), wire.seals);
      await visitor.page.reload();
      await visitor.answers.getByText("They are 100 and 42.").waitFor();
      await visitor.answers.getByRole("button", { name: "Usage and cost" }).first().click();
      const costs = visitor.page.getByRole("dialog", { name: "Usage and cost" });
      await costs.getByText("This chat").waitFor();
      const [calls, chat] = [2, 3].map((n) =>
        [n * cost.input, n * cost.cached, n * cost.output, n].join(" "),
      );
      const told = (await costs.locator("dd").allInnerTexts()).join(" ");
      assert.equal(told, `${calls} ${chat}`, "the answer, and the chat");
    });
  });
}

const keyed = await appOver(wires[0]);

for (const { name, steps, says } of faults) {
  test(`${name} is told, and the chat goes on`, async (t) => {
    const { visitor } = await stage.member(t, { origin: keyed.url });
    stage.model.answer(...steps);
    await visitor.open();
    await visitor.ask("Hello?");
    const failure = visitor.answers.getByText(says).first();
    await failure.waitFor();
    assert.equal((await visitor.answers.innerText()).includes(key), false);
    stage.model.answer(say("Here I am."));
    await visitor.answers.getByRole("button", { name: "Try again" }).first().click();
    await visitor.answers.getByText("Here I am.").waitFor();
    await visitor.questions.getByText("Hello?").first().waitFor();
  });
}

test("a model that takes no tools answers without them, and the page says so", async (t) => {
  const { account, visitor } = await stage.member(t);
  await account.connectToolbox();
  stage.model.answer(fail(400, "this model does not support tools"));
  stage.model.answer(say("In words, then."));
  await visitor.open();
  await visitor.ask("What time is it?");
  await visitor.answers.getByText("In words, then.").waitFor();
  await visitor.answers.getByText("This model does not support tools, so it answers without them.").waitFor();
  await visitor.page.reload();
  await visitor.answers.getByText("This model does not support tools, so it answers without them.").waitFor();
});

test("a busy provider is waited for, and the page says how long", async (t) => {
  const overloaded = createServer((request, response) => {
    request.resume();
    if (request.method === "GET") response.end(JSON.stringify({ models: [{ name: "models/scripted" }] }));
    else {
      const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "50s" }];
      response.writeHead(429).end(JSON.stringify({ error: { code: 429, message: "Slow down", details } }));
    }
  }).listen(0, "127.0.0.1");
  await once(overloaded, "listening");
  t.after(() => overloaded.close());
  const { port } = overloaded.address() as AddressInfo;
  const app = await startApp({ env: { GEMINI_BASE_URL: `http://127.0.0.1:${port}` } });
  t.after(() => app.stop());
  const { visitor } = await stage.member(t, { origin: app.url });
  await visitor.open();
  await visitor.ask("Hello?");
  await visitor.sees(/5\d s/u);
  await visitor.stop.click();
  await visitor.answered();
});

test("a provider that is away is named, with what to do", async (t) => {
  const app = await startApp({ env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" } });
  t.after(() => app.stop());
  const { visitor } = await stage.member(t, { origin: app.url });
  await visitor.open();
  const why = /could not reach the model server: .* whoever runs this service/u;
  await visitor.page.getByRole("status").getByText(why).waitFor();
});

test("a model that never ends can be stopped, and one that says nothing too", async (t) => {
  const { visitor } = await stage.member(t);
  const never = new Promise<never>(() => undefined);
  await visitor.open();
  stage.model.answer(say("On and on"), hold(never));
  await visitor.ask("Go");
  await visitor.answers.getByText("On and on").waitFor();
  await visitor.stop.click();
  await visitor.answered();
  await visitor.answers.getByText("Stopped", { exact: true }).waitFor();
  stage.model.answer(hold(never));
  await visitor.ask("And now?");
  await visitor.stop.click();
  await visitor.answered();
});

test("a chat that has grown too long is shortened, and the page says what was left out", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  stage.model.answer(say("word ".repeat(400)));
  await visitor.ask("Talk");
  await visitor.answered();
  stage.model.answer(fail(400, "This model's maximum context length is 9 tokens"));
  stage.model.answer(say("Short."));
  await visitor.ask("Be brief");
  await visitor.answers.getByText("Short.", { exact: true }).waitFor();
  await visitor.answers.getByText(/longer than this model can read: 1 earlier message/u).waitFor();
});

test("a message that is too long for any model says what to do", async (t) => {
  const { visitor } = await stage.member(t);
  await visitor.open();
  stage.model.answer(fail(400, "This model's maximum context length is 9 tokens"));
  await visitor.ask("word ".repeat(4_000));
  await visitor.answers
    .getByText(/too long for this model: .* Send a shorter message, or start a new chat/u)
    .waitFor();
});
