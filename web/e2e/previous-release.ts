/**
 * Tests that the release before this version and this version work on the same database, also at the same time.
 * `PREVIOUS_BINARY` names the release's program. `cargo xtask upgrade` runs this.
 */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Account } from "./account.ts";
import { databases, startApp, type TestApp } from "./app.ts";
import { allowAll } from "./permission.ts";
import { call, hold, say, ScriptedModel } from "./scripted-model.ts";

const previous = process.env["PREVIOUS_BINARY"];
if (!previous)
  throw new Error("PREVIOUS_BINARY must name a release's program; `cargo xtask upgrade` sets it");
const model = await ScriptedModel.start();
after(() => model.stop());
// All nodes on one database have the same key.
const env = { OPENAI_BASE_URL: model.baseUrl, CHAT_MASTER_KEY: randomBytes(32).toString("base64") };

/** Says something at one of the apps, and checks the answer. */
async function talk(app: TestApp, account: Account, chat: string, text: string): Promise<void> {
  model.answer(say(`answer to ${text}`));
  const { content } = await new Account(app.url, account.email, account.session).say(chat, text);
  assert.equal(content, `answer to ${text}`);
}

/** Checks that a chat has every message that was said in it, with its answer. */
async function holds(app: TestApp, account: Account, chat: string, texts: string[]): Promise<void> {
  const at = new Account(app.url, account.email, account.session);
  const path = `/rest/v1/ai_chat_messages?session_id=eq.${chat}&order=created_at`;
  const messages = await at.call<{ content: string }[]>(path);
  assert.deepEqual(
    messages.map(({ content }) => content),
    texts.flatMap((text) => [text, `answer to ${text}`]),
  );
}

for (const database of databases) {
  test(`this version goes on with the data of the release, and the release with that of this version, on ${database}`, async () => {
    let app = await startApp({ database, env, binary: previous });
    const account = await Account.create(app.url);
    const tools = await account.connectToolbox();
    await allowAll(account, "toolbox");
    const chat = await account.newChat();
    await talk(app, account, chat, "one");
    await app.stop({ keepData: true });

    app = await startApp({ data: app.data, env });
    await talk(app, account, chat, "two");
    const here = new Account(app.url, account.email, account.session);
    const again = await here.again();
    model.answer(call("current_time", { timezone: "Asia/Tokyo" }));
    model.answer(say("answer to three"));
    assert.equal((await again.say(chat, "three", tools)).content, "answer to three");
    await app.stop({ keepData: true });

    app = await startApp({ data: app.data, env, binary: previous });
    await talk(app, again, chat, "four");
    await holds(app, account, chat, ["one", "two", "three", "four"]);
    await app.stop();
  });
}

test("nodes of the release and of this version work side by side", async () => {
  let old = await startApp({ database: "postgres", env, binary: previous });
  const account = await Account.create(old.url);
  const chat = await account.newChat();
  await talk(old, account, chat, "one");
  const data = { dir: await mkdtemp(join(tmpdir(), "ai-chat-mcp-")), databaseUrl: old.data.databaseUrl };
  const next = await startApp({ data, env });
  await talk(next, account, chat, "two");
  // A session of either version is valid at the other.
  const ofOld = await account.again();
  const ofNext = await new Account(next.url, account.email, account.session).again();
  await talk(next, ofOld, chat, "three");
  await talk(old, ofNext, chat, "four");
  // The release starts on the schema of this version, too.
  await old.stop({ keepData: true });
  old = await startApp({ data: old.data, env, binary: previous });
  await talk(old, ofNext, chat, "five");
  await next.stop();
  await talk(old, ofOld, chat, "six");
  await holds(old, account, chat, ["one", "two", "three", "four", "five", "six"]);
  await old.stop();
});

test("nodes of the release and of this version share tools, files, answers in progress and quotas", async () => {
  const limited = { ...env, CHAT_TURNS_PER_HOUR: "5" };
  const old = await startApp({ database: "postgres", env: limited, binary: previous });
  const account = await Account.create(old.url);
  const tools = await account.connectToolbox();
  await allowAll(account, "toolbox");
  const data = { dir: await mkdtemp(join(tmpdir(), "ai-chat-mcp-")), databaseUrl: old.data.databaseUrl };
  const next = await startApp({ data, env: limited });
  const atNext = new Account(next.url, account.email, account.session);
  const chat = await account.newChat();

  for (const [at, expression, result] of [
    [account, "6*7", "42"],
    [atNext, "12*12", "144"],
  ] as const) {
    model.answer(call("calculate", { expression }));
    model.answer(say("Done."));
    assert.equal((await at.say(chat, `${expression}?`, tools)).content, "Done.");
    assert.ok(JSON.stringify(model.requests.at(-1)).includes(result), "the model reads the result");
  }

  for (const [one, other] of [
    [account, atNext],
    [atNext, account],
  ] as const) {
    const text = `a file of ${one.origin}`;
    const headers = { ...one.headers, "content-type": "text/plain" };
    const upload = await fetch(`${one.origin}/v1/files?name=a.txt`, { method: "POST", headers, body: text });
    assert.equal(upload.status, 201);
    const { id } = (await upload.json()) as { id: string };
    const read = await fetch(`${other.origin}/v1/files/${id}`, { headers: other.headers });
    assert.equal(await read.text(), text);
  }

  for (const [one, other] of [
    [account, atNext],
    [atNext, account],
  ] as const) {
    const ended = Promise.withResolvers<void>();
    model.answer(say("partial"), hold(ended.promise));
    const answered = one.say(chat, "A long answer").finally(ended.resolve);
    const observer = new AbortController();
    void answered.finally(() => observer.abort());
    // Until the turn is known at the other node.
    while (!observer.signal.aborted) {
      await sleep(100);
      await other.call(`/api/sessions/${chat}/stop`, {});
    }
    assert.equal((await answered).content, "partial");
  }

  await talk(old, account, chat, "the fifth");
  for (const at of [account, atNext]) {
    await assert.rejects(at.say(chat, "the sixth"), /429.*turns_spent/);
  }
  await next.stop();
  await old.stop();
});
