/**
 * Figures of the page in a browser, as a Markdown table beside what they are to be (medians of several runs; a budget is
 * missed beyond one and a half times of it). The program is the one that `CHAT_BINARY` names.
 */
import { Account } from "../e2e/account.ts";
import { startApp } from "../e2e/app.ts";
import { say, ScriptedModel } from "../e2e/scripted-model.ts";
import { launch, Measured } from "./browser.ts";
import { median, percentile, Table } from "./table.ts";

const runs = 5;
const messages = 2_000;
const paragraph =
  "An ordinary paragraph of an answer, with **some emphasis**, a `code span` and [a link](https://example.com/page). It goes on for a while, as answers do.\n\n";
const piece = `## A heading\n\n${paragraph}${paragraph}- first point of three\n- second, **in bold**\n- third\n\n\`\`\`ts\nexport const answer = 42;\n\`\`\`\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n`;
/** Returns an answer of this length that ends with a unique word. */
const answerOf = (characters: number) =>
  `${piece.repeat(Math.ceil(characters / piece.length)).slice(0, characters)}\n\nLastword`;
/** Letters that the scripted model says at a time. */
const lettersOfADelta = 7;

const model = await ScriptedModel.start();
const app = await startApp({ env: { OPENAI_BASE_URL: model.baseUrl } });
const browser = await launch();
const table = new Table();

try {
  await signInScreen();
  await longChat();
  for (const slowdown of [1, 4]) await streaming(slowdown);
  await fastStreaming();
  await switching();
  await memory();
} finally {
  await browser.close();
  await app.stop();
  model.stop();
}
console.log(table.toMarkdown());

/** So many measurements one after the other, each in a browser context of its own. */
async function several<T>(measure: () => Promise<T>): Promise<T[]> {
  const measured: T[] = [];
  for (let run = 0; run < runs; run++) measured.push(await measure());
  return measured;
}

async function signInScreen(): Promise<void> {
  const seen = await several(async () => {
    const measured = await Measured.open(browser, app.url, 4);
    await measured.page.goto("/auth");
    await measured.page.getByLabel("Email", { exact: true }).waitFor();
    await measured.page.waitForLoadState("networkidle");
    const result = await measured.seen();
    await measured.close();
    return result;
  });
  table.add("`/auth`, largest paint, 4x", "ms", median(seen.map((one) => one.paintedAt)), 600);
  table.add("`/auth`, blocked, 4x", "ms", median(seen.map((one) => one.blockedMs)), 150);
}

async function personWithLongChat(): Promise<Account> {
  const account = await Account.create(app.url);
  const chat = await account.newChat("A long chat");
  await account.fill(
    chat,
    Array.from({ length: messages }, (_, at) =>
      at % 2 === 0 ? `Question ${at}` : `Answer **${at}**.\n\n${paragraph}`,
    ),
  );
  return account;
}

async function longChat(): Promise<void> {
  const account = await personWithLongChat();
  for (const [slowdown, most] of [
    [1, 300],
    [4, 1_000],
  ] as const) {
    const seen = await several(async () => {
      const measured = await Measured.open(browser, app.url, slowdown, account);
      await measured.page.goto("/");
      await measured.page.getByText(`Question ${messages - 2}`, { exact: true }).waitFor();
      await measured.page.waitForLoadState("load");
      const result = await measured.seen();
      await measured.close();
      return result;
    });
    const where = `\`/\` with ${messages.toLocaleString("en")} messages`;
    table.add(`${where}, composer there, ${slowdown}x`, "ms", median(seen.map((one) => one.usableAt)), most);
    if (slowdown === 4)
      table.add(`${where}, blocked, 4x`, "ms", median(seen.map((one) => one.blockedMs)), 400);
  }
}

async function streaming(slowdown: number): Promise<void> {
  const characters = 5_600;
  const seen = await several(async () => {
    const account = await Account.create(app.url);
    const measured = await Measured.open(browser, app.url, slowdown, account);
    await measured.page.goto("/");
    await measured.composer.waitFor();
    model.answer(say(answerOf(characters), 5));
    await measured.seen();
    const before = await measured.workedMs();
    const answered = measured.ask("Write something", "Lastword");
    await measured.page.getByText("An ordinary paragraph").first().waitFor();
    await measured.composer.pressSequentially("and this meanwhile", { delay: 100 });
    await answered;
    const worked = (await measured.workedMs()) - before;
    const result = await measured.seen();
    await measured.close();
    return { ...result, worked };
  });
  const of = `200 deltas/s, ${slowdown}x`;
  const deltas = characters / lettersOfADelta;
  const slow = slowdown === 4;
  const late = seen.map(({ lateFrames, frames }) => (100 * lateFrames) / Math.max(frames, 1));
  table.add(
    `main thread for a delta, ${of}`,
    "ms",
    median(seen.map(({ worked }) => worked / deltas)),
    slow ? 4 : 1.2,
  );
  table.add(`frames over 34 ms, ${of}`, "%", median(late), slow ? 2 : 0.5);
  table.add(`tasks over 50 ms, ${of}`, "", median(seen.map((one) => one.longTasks)), slow ? 3 : 0);
  const inputs = seen.map((one) => percentile(one.inputsMs, 98));
  table.add(`key to picture, p98, ${of}`, "ms", median(inputs), slow ? 100 : 50);
}

async function fastStreaming(): Promise<void> {
  const characters = 56_000;
  const account = await Account.create(app.url);
  const measured = await Measured.open(browser, app.url, 1, account);
  await measured.page.goto("/");
  await measured.composer.waitFor();
  model.answer(say(answerOf(characters)));
  const before = await measured.workedMs();
  await measured.ask("Write a lot", "Lastword");
  const worked = (await measured.workedMs()) - before;
  await measured.close();
  const deltas = characters / lettersOfADelta;
  table.add("main thread for a delta, 56 kB as fast as it comes, 1x", "ms", worked / deltas, 0.3);
}

async function switching(): Promise<void> {
  const account = await Account.create(app.url);
  for (const title of ["First", "Second"]) {
    await account.fill(await account.newChat(title), [
      `Is this ${title}?`,
      `${title} it is.\n\n${paragraph}`,
    ]);
  }
  const measured = await Measured.open(browser, app.url, 4, account);
  await measured.page.goto("/");
  await measured.composer.waitFor();
  const tab = (name: string) => measured.page.getByRole("tab", { name });
  // What a screen needs is loaded when it is shown first.
  await tab("MCP Servers").click();
  await measured.page.getByRole("heading", { name: "Connect to MCP Server" }).waitFor();
  await tab("Chat").click();
  await measured.composer.waitFor();
  await measured.seen();
  for (let round = 0; round < runs; round++) {
    await tab("MCP Servers").click();
    await tab("Chat").click();
  }
  table.add("another tab of the screen, 4x", "ms", median((await measured.seen()).inputsMs), 100);
  const open = async (title: string) => {
    await measured.page.getByRole("button", { name: /^Chats \(/u }).click();
    const menu = measured.page.getByRole("dialog", { name: "Recent Chats" });
    const row = menu.getByRole("button", { name: new RegExp(`^${title}`, "u") });
    await row.waitFor();
    await measured.seen();
    await row.click();
    await measured.page.getByText(`${title} it is.`).waitFor();
    return median((await measured.seen()).inputsMs);
  };
  for (const title of ["First", "Second"]) await open(title);
  const times: number[] = [];
  for (let round = 0; round < runs; round++) {
    for (const title of ["First", "Second"]) times.push(await open(title));
  }
  table.add("a chat that was open before, 4x", "ms", median(times), 100);
  await measured.close();
}

async function memory(): Promise<void> {
  const account = await personWithLongChat();
  const other = await account.newChat("Another");
  await account.fill(other, ["Which one?", "Another one."]);
  const measured = await Measured.open(browser, app.url, 1, account);
  await measured.page.goto("/");
  await measured.page.getByText("Another one.").waitFor();
  const open = async (title: string, shows: string) => {
    await measured.page.getByRole("button", { name: /^Chats \(/u }).click();
    const menu = measured.page.getByRole("dialog", { name: "Recent Chats" });
    await menu.getByRole("button", { name: new RegExp(`^${title}`, "u") }).click();
    await measured.page.getByText(shows, { exact: true }).first().waitFor();
  };
  await open("A long chat", `Question ${messages - 2}`);
  const loaded = await measured.heapMb();
  table.add(`heap with ${messages.toLocaleString("en")} messages`, "MB", loaded, 12);
  model.answer(say(answerOf(50_000)));
  await measured.ask("Write a lot", "Lastword");
  const grown = await measured.heapMb();
  table.add("more after 50 kB streamed", "MB", Math.max(grown - loaded, 0), 10);
  for (let round = 0; round < 20; round++) {
    await open("Another", "Another one.");
    await open("A long chat", "Write a lot");
  }
  table.add("more after 20 changes of the chat", "MB", Math.max((await measured.heapMb()) - grown, 0), 2);
  await measured.close();
}
