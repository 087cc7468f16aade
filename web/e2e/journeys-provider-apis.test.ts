import assert from "node:assert/strict";
import { createServer } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { after, describe, test } from "node:test";
import { startApp } from "./app.ts";
import { allowAll } from "./permission.ts";
import { breakOff, call, fail, hold, raw, say, type Step, think } from "./scripted-model.ts";
import { cost, seal } from "./scripted-providers/speech.ts";
import { startFixture, type Fixture } from "./fixture.ts";

const key = "sk-not-to-be-seen";

/** Settings for each provider API, and whether it requires reasoning blocks back. */
const apis = [
  {
    name: "OpenAI responses",
    provider: "openai",
    path: "/v1",
    base: "OPENAI_BASE_URL",
    key: "OPENAI_API_KEY",
    env: { CHAT_OPENAI_WIRE: "responses" },
    seals: true,
  },
  {
    name: "chat completions",
    provider: "openai",
    path: "/v1",
    base: "OPENAI_BASE_URL",
    key: "OPENAI_API_KEY",
    env: { CHAT_OPENAI_WIRE: "chat" },
    seals: false,
  },
  {
    name: "Anthropic messages",
    provider: "anthropic",
    path: "",
    base: "ANTHROPIC_BASE_URL",
    key: "ANTHROPIC_API_KEY",
    env: {},
    seals: true,
  },
  {
    name: "Gemini",
    provider: "gemini",
    path: "",
    base: "GEMINI_BASE_URL",
    key: "GEMINI_API_KEY",
    env: {},
    seals: true,
  },
  {
    name: "Ollama",
    provider: "ollama",
    path: "",
    base: "OLLAMA_HOST",
    key: undefined,
    env: {},
    seals: false,
  },
] as const;

const fixture: Fixture = await startFixture();

/** The app over one wire, to the stage's model. */
async function appOver({ base, key: name, path, env }: (typeof apis)[number]) {
  const settings: Record<string, string> = { ...env, [base]: fixture.model.origin + path };
  if (name) settings[name] = key;
  const app = await startApp({ env: settings });
  after(() => app.stop());
  return app;
}

/** Errors of a provider, with the message that the page shows. */
const faults: { name: string; steps: Step[]; says: RegExp }[] = [
  {
    name: "a wrong key",
    steps: [fail(401, "Incorrect key")],
    says: /refused the key: Incorrect key\. Whoever runs this service has to renew the key/u,
  },
  {
    name: "no credit",
    steps: [fail(402, "Top up")],
    says: /requires payment: Top up\. Whoever runs this service has to look at the account/u,
  },
  {
    name: "an unknown model",
    steps: [fail(404, "no such model")],
    says: /does not know the model: no such model\. Whoever runs this service has to choose another/u,
  },
  {
    name: "garbage",
    steps: [raw("data: {]\n\n")],
    says: /sent an unreadable response: .* whoever runs this service has to look at/u,
  },
  {
    name: "an end in the middle",
    steps: [say("Half of it"), breakOff],
    says: /the connection closed before the response was complete/u,
  },
];

for (const api of apis) {
  describe(`over ${api.name}`, async () => {
    const app = await appOver(api);

    test("text, thoughts and tools come through, and the next turn knows them", async (t) => {
      const { account, appPage } = await fixture.openSignedInPage(t, { origin: app.url });
      await account.connectToolbox();
      await allowAll(account, "toolbox");
      fixture.model.answer(
        think("This wants arithmetic."),
        call("calculate", { expression: "12.5*8" }),
        call("calculate", { expression: "7*6" }),
      );
      fixture.model.answer(think("Both are there."), say("They are **100** and 42."));
      await appPage.open();
      await appPage.ask("What is 12.5*8, and 7*6?");
      await appPage.answered();
      await appPage.answers.getByText("They are 100 and 42.").waitFor();
      assert.equal(await appPage.toolCall("calculate").count(), 2);
      for (const state of await appPage.toolCall("calculate").all())
        assert.equal(await state.getAttribute("data-state"), "done");
      const thought = appPage.answers.locator("details").filter({ hasText: "This wants arithmetic." });
      await thought.locator("summary").click();
      await thought.getByText("This wants arithmetic.").waitFor();

      fixture.model.answer(say("You are welcome."));
      await appPage.ask("Thanks");
      await appPage.answers.getByText("You are welcome.").waitFor();
      const [first, second, third] = fixture.model.requests.map((request) => JSON.stringify(request));
      assert.equal(first?.includes(seal), false);
      assert.equal(second?.includes(seal), api.seals, "a sealed thought goes back with its call");
      assert.equal(third?.includes(seal), api.seals);
      await appPage.page.reload();
      await appPage.answers.getByText("They are 100 and 42.").waitFor();
      await appPage.answers.getByRole("button", { name: "Usage and cost" }).first().click();
      const costs = appPage.page.getByRole("dialog", { name: "Usage and cost" });
      await costs.getByText("This chat").waitFor();
      const [calls, chat] = [2, 3].map((n) =>
        [n * cost.input, n * cost.cached, n * cost.output, n].join(" "),
      );
      const told = (await costs.locator("dd").allInnerTexts()).join(" ");
      assert.equal(told, `${calls} ${chat}`, "the answer, and the chat");
    });
  });
}

const keyed = await appOver(apis[0]);

for (const { name, steps, says } of faults) {
  test(`${name} is told, and the chat goes on`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { origin: keyed.url });
    fixture.model.answer(...steps);
    await appPage.open();
    await appPage.ask("Hello?");
    const failure = appPage.answers.getByText(says).first();
    await failure.waitFor();
    assert.equal((await appPage.answers.innerText()).includes(key), false);
    fixture.model.answer(say("Here I am."));
    await appPage.answers.getByRole("button", { name: "Try again" }).first().click();
    await appPage.answers.getByText("Here I am.").waitFor();
    await appPage.questions.getByText("Hello?").first().waitFor();
  });
}

test("a model that takes no tools answers without them, and the page says so", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connectToolbox();
  fixture.model.answer(fail(400, "this model does not support tools"));
  fixture.model.answer(say("In words, then."));
  await appPage.open();
  await appPage.ask("What time is it?");
  await appPage.answers.getByText("In words, then.").waitFor();
  await appPage.answers.getByText("This model does not support tools, so it answers without them.").waitFor();
  await appPage.page.reload();
  await appPage.answers.getByText("This model does not support tools, so it answers without them.").waitFor();
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
  const { appPage } = await fixture.openSignedInPage(t, { origin: app.url });
  await appPage.open();
  await appPage.ask("Hello?");
  await appPage.sees(/5\d s/u);
  await appPage.stop.click();
  await appPage.answered();
});

test("a provider that is away is named, with what to do", async (t) => {
  const app = await startApp({ env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" } });
  t.after(() => app.stop());
  const { appPage } = await fixture.openSignedInPage(t, { origin: app.url });
  await appPage.open();
  const why = /could not reach the model server: .* whoever runs this service/u;
  await appPage.page.getByRole("status").getByText(why).waitFor();
});

test("a model that never ends can be stopped, and one that says nothing too", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const never = new Promise<never>(() => undefined);
  await appPage.open();
  fixture.model.answer(say("On and on"), hold(never));
  await appPage.ask("Go");
  await appPage.answers.getByText("On and on").waitFor();
  await appPage.stop.click();
  await appPage.answered();
  await appPage.answers.getByText("Stopped", { exact: true }).waitFor();
  fixture.model.answer(hold(never));
  await appPage.ask("And now?");
  await appPage.stop.click();
  await appPage.answered();
});

test("a chat that has grown too long is shortened, and the page says what was left out", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  fixture.model.answer(say("word ".repeat(400)));
  await appPage.ask("Talk");
  await appPage.answered();
  fixture.model.answer(fail(400, "This model's maximum context length is 9 tokens"));
  fixture.model.answer(say("Short."));
  await appPage.ask("Be brief");
  await appPage.answers.getByText("Short.", { exact: true }).waitFor();
  await appPage.answers.getByText(/longer than this model can read: 1 earlier message/u).waitFor();
});

test("a message that is too long for any model says what to do", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.open();
  fixture.model.answer(fail(400, "This model's maximum context length is 9 tokens"));
  await appPage.ask("word ".repeat(4_000));
  await appPage.answers
    .getByText(/too long for this model: .* Send a shorter message, or start a new chat/u)
    .waitFor();
});
