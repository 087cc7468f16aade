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
/** A piece with what is coloured and drawn as formulas once it is complete. */
const richPiece = `${paragraph}Let $a^2 + b^2 = c^2$, and so\n\n$$\n\\int_0^1 x^2 \\, dx = \\frac{1}{3}\n$$\n\n\`\`\`python\ndef square(x: float) -> float:\n    """Return the square of x."""\n    return x * x  # a note\n\`\`\`\n\n`;
/** Returns an answer of this length, of equal pieces, that ends with a unique word. */
const answerOf = (characters: number, of = piece) =>
  `${of.repeat(Math.ceil(characters / of.length)).slice(0, characters)}\n\nLastword`;
/** Code blocks in the newest answers of the long chat, one in each. */
const blocks = 300;
/** Returns 20 lines of code that no other block has, so that none is known already. */
const codeOf = (at: number): string => {
  const [language, line] = [
    ["ts", "export const value = items.map((item) => item.price * 1.19).filter(Boolean); // a note"],
    ["python", 'def value(item): return round(item["price"] * 1.19, 2)  # a note'],
    ["rust", 'pub fn value(price: f64) -> String { format!("{:.2}", price * 1.19) } // a note'],
    ["sql", "SELECT name, round(price * 1.19, 2) FROM items WHERE name LIKE 'a%' -- a note"],
  ][at % 4] ?? ["", ""];
  return `\`\`\`${language}\n${Array.from({ length: 20 }, (_, row) => `${line} ${at}.${row}`).join("\n")}\n\`\`\``;
};
/** Letters that the scripted model says at a time. */
const lettersOfADelta = 7;

const parts = {
  signInScreen,
  longChat,
  codeChat,
  interactions,
  streaming,
  richStreaming,
  fastStreaming,
  switching,
  memory,
};
/** Names of the parts to measure: all, unless some are given. */
const wanted = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(parts);

const model = await ScriptedModel.start();
const app = await startApp({ env: { OPENAI_BASE_URL: model.baseUrl } });
const browser = await launch();
const table = new Table();

try {
  for (const [name, measure] of Object.entries(parts)) if (wanted.includes(name)) await measure();
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

async function codeChat(): Promise<void> {
  const account = await Account.create(app.url);
  await account.fill(
    await account.newChat("A long chat with code"),
    Array.from({ length: messages }, (_, at) => {
      if (at % 2 === 0) return `Question ${at}`;
      return at < messages - 2 * blocks ? `Answer **${at}**.\n\n${paragraph}` : `${paragraph}${codeOf(at)}`;
    }),
  );
  const coloured = "article:last-of-type figure span[class^=code-]";
  const where = `\`/\` with ${messages.toLocaleString("en")} messages and ${blocks} code blocks`;
  for (const slowdown of [1, 4]) {
    const seen = await several(async () => {
      const measured = await Measured.open(browser, app.url, slowdown, account);
      const began = performance.now();
      await measured.page.goto("/", { waitUntil: "commit" });
      await measured.page.locator(coloured).first().waitFor();
      const colouredAt = performance.now() - began;
      await measured.page.waitForFunction(() =>
        [...document.querySelectorAll("article figure")].every((block) =>
          block.querySelector("[class^=code-]"),
        ),
      );
      const opened = await measured.seen();
      const conversation = measured.page.getByRole("group", { name: "Conversation" });
      await conversation.hover();
      // Until some fifty blocks have passed, while one types.
      for (let turn = 0; turn < 60; turn++) {
        await measured.page.mouse.wheel(0, -700);
        if (turn % 3 === 0) await measured.composer.press("a");
        await measured.page.waitForTimeout(30);
      }
      const scrolled = await measured.seen();
      await measured.close();
      return { opened, colouredAt, scrolled };
    });
    const of = `${slowdown}x`;
    const slow = slowdown === 4;
    const value = (read: (one: (typeof seen)[number]) => number) => median(seen.map(read));
    table.add(
      `${where}, composer there, ${of}`,
      "ms",
      value(({ opened }) => opened.usableAt),
      slow ? 1_000 : 350,
    );
    table.add(
      `${where}, newest code coloured, ${of}`,
      "ms",
      value((one) => one.colouredAt),
      slow ? 3_000 : 1_000,
    );
    table.add(
      `${where}, blocked, ${of}`,
      "ms",
      value(({ opened }) => opened.blockedMs),
      slow ? 400 : 50,
    );
    table.add(
      `scrolling through the code, frames over 34 ms, ${of}`,
      "%",
      value(({ scrolled }) => (100 * scrolled.lateFrames) / Math.max(scrolled.frames, 1)),
      slow ? 10 : 2,
    );
    table.add(
      `scrolling through the code, key to picture, p98, ${of}`,
      "ms",
      value(({ scrolled }) => percentile(scrolled.inputsMs, 98)),
      slow ? 200 : 50,
    );
  }
}

/** The slowest of what is pressed and typed most, as browsers report it of users (interaction to next paint). */
async function interactions(): Promise<void> {
  const account = await personWithLongChat();
  await account.connectToolbox();
  for (const slowdown of [1, 4]) {
    const measured = await Measured.open(browser, app.url, slowdown, account);
    const { page } = measured;
    await page.goto("/");
    await page.getByText(`Question ${messages - 2}`, { exact: true }).waitFor();
    await page.waitForLoadState("load");
    const rounds: number[] = [];
    // What is loaded on demand is loaded in the first round.
    for (let round = 0; round <= runs; round++) {
      await measured.seen();
      await page.getByRole("button", { name: "Settings", exact: true }).click();
      await page.getByRole("dialog", { name: "Settings", exact: true }).waitFor();
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await page.getByRole("option").first().waitFor();
      await page.keyboard.type("calc");
      await page
        .getByRole("option", { name: /calculate/u })
        .first()
        .waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: /^Chats \(/u }).click();
      await page.getByRole("dialog", { name: "Recent Chats" }).getByRole("listitem").first().waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: /^Model: /u }).click();
      await page.getByRole("dialog", { name: "About the model" }).waitFor();
      await page.keyboard.press("Escape");
      await measured.composer.pressSequentially("A message", { delay: 30 });
      await measured.composer.fill("");
      await page.getByRole("tab", { name: /^Tools/u }).click();
      await page.getByRole("heading", { name: "calculate" }).waitFor();
      await page.getByRole("tab", { name: "Chat", exact: true }).click();
      await measured.composer.waitFor();
      if (round > 0) rounds.push(percentile((await measured.seen()).inputsMs, 98));
    }
    await measured.close();
    table.add(`press or key to picture, p98, ${slowdown}x`, "ms", median(rounds), slowdown === 4 ? 200 : 100);
  }
}

async function streaming(): Promise<void> {
  for (const slowdown of [1, 4]) await streamingAt(slowdown, piece, "");
}

async function richStreaming(): Promise<void> {
  for (const slowdown of [1, 4]) await streamingAt(slowdown, richPiece, " with code and formulas");
}

async function streamingAt(slowdown: number, of: string, what: string): Promise<void> {
  const characters = 5_600;
  const seen = await several(async () => {
    const account = await Account.create(app.url);
    const measured = await Measured.open(browser, app.url, slowdown, account);
    await measured.page.goto("/");
    await measured.composer.waitFor();
    model.answer(say(answerOf(characters, of), 5));
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
  const where = `200 deltas/s${what}, ${slowdown}x`;
  const deltas = characters / lettersOfADelta;
  const slow = slowdown === 4;
  const late = seen.map(({ lateFrames, frames }) => (100 * lateFrames) / Math.max(frames, 1));
  table.add(
    `main thread for a delta, ${where}`,
    "ms",
    median(seen.map(({ worked }) => worked / deltas)),
    slow ? 4 : 1.2,
  );
  table.add(`frames over 34 ms, ${where}`, "%", median(late), slow ? 2 : 0.5);
  table.add(`tasks over 50 ms, ${where}`, "", median(seen.map((one) => one.longTasks)), slow ? 3 : 0);
  const inputs = seen.map((one) => percentile(one.inputsMs, 98));
  table.add(`key to picture, p98, ${where}`, "ms", median(inputs), slow ? 100 : 50);
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
