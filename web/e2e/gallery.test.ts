import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Account } from "./account.ts";
import { eventually, type AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { inspectGerman } from "./german.ts";
import { inspect, type Look, looks } from "./look.ts";
import { allowAll } from "./permission.ts";
import { drawnPng } from "./picture.ts";
import { call, hold, reachLimit, say, think } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";
import { ScriptedRegistry } from "./scripted-registry.ts";

// States that no journey inspects on its way.

const registry = await ScriptedRegistry.start();
const fixture = await startFixture({ CHAT_MCP_REGISTRY: registry.url });
const never = new Promise<never>(() => undefined);
const server = await serveTools([
  { name: "send", description: "Sends a letter.", inputSchema: { type: "object" }, run: () => never },
]);
after(() => {
  registry.stop();
  server.stop();
});
registry.entries = [
  {
    name: "com.example/weather",
    title: "Weather",
    description: "Forecasts for any place.",
    remotes: [{ type: "streamable-http", url: "https://weather.hosting.test/mcp" }],
  },
  {
    name: "io.github.acme/notes",
    title: "Notes",
    description: "Finds notes of your team.",
    status: "deprecated",
    remotes: [
      {
        type: "streamable-http",
        url: "https://notes.example.com/{team}",
        headers: [{ name: "Authorization", isRequired: true, isSecret: true }],
      },
    ],
  },
];

const HOUR_MS = 3_600_000;
const answer = [
  "The sum is $\\sum_{k=1}^{n} k = \\frac{n(n+1)}{2}$, which a loop gives, too:",
  "```python\ntotal = sum(range(1, n + 1))\n```",
  "| n | sum |\n|---|---|\n| 10 | 55 |\n| 100 | 5,050 |",
  "```mermaid\nflowchart LR\n  A[1] --> B[1 + 2] --> C[1 + 2 + 3]\n```",
  "And that is all.",
].join("\n\n");

/** Stores messages, alternately of the user and the assistant, so many hours ago. */
async function fill(account: Account, messages: readonly [hoursAgo: number, row: object][]): Promise<void> {
  const chat = await account.newChat("Sums");
  const rows = messages.map(([hoursAgo, row], index) => ({
    session_id: chat,
    role: index % 2 === 0 ? "user" : "assistant",
    created_at: new Date(Date.now() - hoursAgo * HOUR_MS + index).toISOString(),
    content: "",
    tool_calls: [],
    ...row,
  }));
  await account.call("/rest/v1/ai_chat_messages", rows);
}

/** Gives the page a voice and ears, which the browser of the tests has not. */
async function addSpeech({ page }: AppPage): Promise<void> {
  await page.addInitScript(() => {
    class Recognition extends EventTarget {
      start(): void {
        const results = [[{ transcript: "And how much is the sum of the first" }]];
        queueMicrotask(() => this.dispatchEvent(Object.assign(new Event("result"), { results })));
      }
      stop(): void {
        this.dispatchEvent(new Event("end"));
      }
      abort(): void {}
    }
    Object.assign(globalThis, { SpeechRecognition: Recognition });
    speechSynthesis.speak = () => undefined;
  });
}

for (const [name, look] of looks) {
  test(`days, an answer with everything, dictation and reading aloud at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await fill(account, [
      [24 * 400, { content: "How much is the sum of the first ten numbers?" }],
      [24 * 400, { content: "It is 55." }],
      [24, { content: "And of the first hundred?" }],
      [24, { content: "It is 5,050." }],
      [0, { content: "Is there a formula?" }],
      [0, { content: answer }],
    ]);
    await addSpeech(appPage);
    await appPage.open();
    await appPage.answers.last().locator(".katex").first().waitFor();
    await appPage.answers.last().getByRole("button", { name: "Show diagram" }).waitFor();
    await inspect(appPage, "gallery-answer", look);
    await appPage.button("Dictate").click();
    await appPage.button("Stop dictation").waitFor();
    await eventually(async () => assert.match(await appPage.composer.inputValue(), /^And how much/u));
    await appPage.answers.last().getByRole("button", { name: "Read aloud" }).click();
    await appPage.button("Stop reading").waitFor();
    await inspect(appPage, "gallery-voice", look);
    await appPage.sees("Yesterday");
    await appPage.questions.first().evaluate((question) => question.scrollIntoView());
    await appPage.button("Jump to latest").waitFor();
    await inspect(appPage, "gallery-days", look);
  });

  test(`an answer that was cut at the length limit at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, look);
    fixture.model.answer(say("Once upon a time there was a"), reachLimit);
    await appPage.open();
    await appPage.ask("Tell me a long story");
    await appPage.answers.getByText("Cut at the length limit", { exact: true }).waitFor();
    await inspect(appPage, "gallery-cut-answer", look);
  });

  test(`tool calls in every state and an opened thought at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.connect("post", server.url);
    await allowAll(account, "post");
    const done = { result: { content: [{ type: "text", text: "It is on its way." }] }, durationMs: 1_240 };
    const outcomes = [
      done,
      { error: "The post office is closed until Monday morning, when the lorry comes.", durationMs: 90 },
      { outcome: "denied", error: "The user has not allowed the call." },
      { outcome: "stopped" },
      { outcome: "unknown" },
    ];
    const calls = outcomes.map((outcome, index) => ({
      id: `${index}`,
      name: "send",
      serverName: "post",
      arguments: { to: "Ada", text: "The engine is ready, and it weaves algebraic patterns." },
      ...outcome,
    }));
    await fill(account, [
      [0, { content: "Send the letters" }],
      [0, { tool_calls: calls }],
    ]);
    await appPage.open();
    await appPage.toolCall("send").nth(4).waitFor();
    await inspect(appPage, "gallery-calls", look);

    const written = Promise.withResolvers<void>();
    fixture.model.answer(
      think("The letter is for Ada.\n\nShe lives in *London*, so it goes by the night train."),
      say("I send it again."),
      call("send", { to: "Ada", text: "The engine is ready." }),
      hold(written.promise),
    );
    await appPage.ask("Once more, please");
    const last = appPage.toolCall("send").last();
    await eventually(async () => assert.equal(await last.getAttribute("data-state"), "writing"));
    await appPage.answers.last().locator("summary").click();
    await last.scrollIntoViewIfNeeded();
    await inspect(appPage, "gallery-call-writing", look);
    written.resolve();
    await eventually(async () => assert.equal(await last.getAttribute("data-state"), "running"));
    await last.getByRole("button", { expanded: false }).click();
    await last.getByText("Arguments").scrollIntoViewIfNeeded();
    await inspect(appPage, "gallery-call-running", look);
    await appPage.stop.click();
    await appPage.answered();
  });

  test(`results as trees and images, and long code and a changed file at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.connect("post", server.url);
    const svg =
      '<svg xmlns="http://www.w3.org/2000/svg" width="240" height="120"><circle cx="60" cy="60" r="40" fill="teal"/></svg>';
    const contents = [
      [
        {
          type: "text",
          text: JSON.stringify({
            letters: [
              { to: "Ada", pages: 2 },
              { to: "Grace", pages: 1 },
            ],
            sent: true,
          }),
        },
      ],
      [{ type: "image", data: Buffer.from(svg).toString("base64"), mimeType: "image/svg+xml" }],
    ];
    const calls = contents.map((content, index) => ({
      id: `${index}`,
      name: "send",
      serverName: "post",
      arguments: { to: "Ada" },
      result: { content },
      durationMs: 300,
    }));
    const long = Array.from({ length: 58 }, (_, at) => `const line${at + 1} = "${"x".repeat(at * 3)}";`);
    const code = `\`\`\`typescript\n${long.join("\n")}\n\`\`\``;
    const diff =
      "```diff\n--- a/post.sql\n+++ b/post.sql\n@@ -1,2 +1,2 @@\n--- an old comment\n+SELECT 2;\n SELECT 3;\n```";
    await fill(account, [
      [0, { content: "Send the letters" }],
      [0, { tool_calls: calls }],
      [0, { content: "And the program?" }],
      [0, { content: `${code}\n\n${diff}` }],
    ]);
    await appPage.open();
    const block = appPage.answers.last().getByRole("figure").first();
    await block.getByText("40 of 58 lines").waitFor();
    const removed = appPage.answers.last().locator(".code-removed");
    await eventually(async () => assert.match((await removed.textContent()) ?? "", /an old comment/u));
    assert.equal(await appPage.answers.last().locator(".code-added").count(), 1);
    await block.scrollIntoViewIfNeeded();
    await inspect(appPage, "gallery-code-folded", look);
    await block.getByRole("button", { name: /wrap/iu }).click();
    await inspect(appPage, "gallery-code-wrapped", look);
    await block.getByRole("button", { name: "Show all 58 lines" }).click();
    await appPage.answers.last().getByRole("figure").last().scrollIntoViewIfNeeded();
    await inspect(appPage, "gallery-diff", look);

    for (const [index, screen] of ["json", "svg"].entries()) {
      const card = appPage.toolCall("send").nth(index);
      const head = card.getByRole("button", { expanded: false });
      if ((await head.count()) > 0) await head.first().click();
      const opener = card.getByRole("button", { name: "Open preview" }).first();
      await opener.scrollIntoViewIfNeeded();
      await inspect(appPage, `gallery-result-${screen}`, look);
      await opener.click();
      const preview = appPage.page.getByRole("button", { name: "Close preview" });
      await preview.waitFor();
      if (screen === "svg") {
        const image = appPage.page.frameLocator("iframe").frameLocator("iframe").locator("img");
        await eventually(async () =>
          assert.equal(await image.evaluate((element) => (element as HTMLImageElement).naturalWidth), 240),
        );
      }
      await inspect(appPage, `gallery-preview-${screen}`, look);
      await preview.click();
    }
  });

  test(`a sorted table, an invalid preview, its code, and a diagram with an error at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await fill(account, [
      [0, { content: "Show me everything" }],
      [
        0,
        {
          content: [
            "| City | Letters | Last sent |\n| --- | ---: | :-: |\n| London | 12 | Monday |\n| Paris | 3 | Friday |",
            '```json\n{ "letters": [12, 3, }\n```',
            "```mermaid\nflowchart LR\n  A --> [\n```",
          ].join("\n\n"),
        },
      ],
    ]);
    await appPage.open();
    const answered = appPage.answers.last();
    await answered.getByRole("button", { name: "Letters", exact: true }).click();
    await answered
      .getByRole("columnheader", { name: "Letters" })
      .and(answered.locator("[aria-sort]"))
      .waitFor();
    await inspect(appPage, "gallery-table-sorted", look);
    const diagram = answered.locator("figure").last();
    await diagram.getByRole("button", { name: "Show diagram" }).click();
    await diagram.getByRole("alert").getByText("Details").click();
    await diagram.getByText(/Parse error on line 2/u).scrollIntoViewIfNeeded();
    await inspect(appPage, "gallery-diagram-error", look);
    await answered.getByRole("button", { name: "Open preview" }).click();
    await appPage.sees(/^This is not valid JSON\./u);
    await inspect(appPage, "gallery-preview-invalid", look);
    await appPage.page.getByRole("tab", { name: "Code" }).click();
    await appPage.page.getByRole("tabpanel", { name: "Code" }).getByText("letters").first().waitFor();
    await inspect(appPage, "gallery-preview-code", look);
  });

  test(`folded calls, and results that closed cards show at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    const picture = drawnPng(240, 120).toString("base64");
    const finished = (contents: readonly object[]) =>
      contents.map((content, index) => ({
        id: `${index}`,
        name: "send",
        serverName: "post",
        arguments: { to: "Ada" },
        result: { content: [content] },
        durationMs: 1_530,
      }));
    const words = { type: "text", text: "On its way." };
    await fill(account, [
      [0, { content: "Send four letters" }],
      [0, { tool_calls: finished([words, words, words, words]), content: "All are on their way." }],
      [0, { content: "And a picture?" }],
      [0, { tool_calls: finished([{ type: "image", data: picture, mimeType: "image/png" }, words]) }],
    ]);
    await appPage.open();
    const pill = appPage.page.getByRole("button", { name: /^4 tools · 6\.1 s/u });
    await pill.waitFor();
    const cards = appPage.answers.last();
    await cards.getByText("On its way.").waitFor();
    await cards.getByRole("img").last().scrollIntoViewIfNeeded();
    await inspect(appPage, "gallery-results-closed", look);
    await pill.scrollIntoViewIfNeeded();
    await inspect(appPage, "gallery-calls-folded", look);
    await pill.click();
    await appPage.toolCall("send").nth(5).waitFor();
    await inspect(appPage, "gallery-calls-unfolded", look);
  });

  test(`a newer version and a long answer that is being written at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, look);
    await appPage.open();
    fixture.model.answer(
      say(`${"A long line of an answer that goes on. ".repeat(60)}\n\nStill`),
      hold(never),
    );
    await appPage.ask("Tell me everything");
    await appPage.answers.getByText("Still", { exact: true }).waitFor();
    await appPage.questions.first().evaluate((question) => question.scrollIntoView());
    await appPage.button("Jump to latest, still writing").waitFor();
    await inspect(appPage, "gallery-jump", look);
    await appPage.stop.click();
    await appPage.answered();
    await appPage.page.route("/", (route) =>
      route.request().isNavigationRequest() ? route.continue() : route.fulfill({ body: "another version" }),
    );
    // A tab that is looked at again asks whether it is still the newest.
    await appPage.page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
    await appPage.button("Reload").waitFor();
    await inspect(appPage, "gallery-version", look);
  });

  test(`the newer parts are German, and fit at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, { ...look, locale: "de-DE" });
    await walkInGerman({ account, appPage, look });
  });
}

interface German {
  account: Account;
  appPage: AppPage;
  look: Look;
}

async function walkInGerman({ account, appPage, look }: German): Promise<void> {
  const { page } = appPage;
  const see = (screen: string) => inspectGerman(appPage, screen, look);
  await account.connect("post", server.url);
  await fill(account, [
    [24, { content: "Wie viel ist das?" }],
    [24, { content: "Es sind 55." }],
  ]);
  await addSpeech(appPage);
  await appPage.open();
  await page.getByText("Es sind 55.").waitFor();
  await appPage.button("Mehr zu diesem Chat").click();
  await page.getByRole("dialog", { name: "Mehr zu diesem Chat" }).getByText("Teilen").waitFor();
  await see("chat-menu");
  await page.keyboard.press("Escape");
  await appPage.button("Modell: scripted").click();
  await page.getByRole("dialog").getByText("scripted").first().waitFor();
  await see("model");
  await page.keyboard.press("Escape");
  await appPage.button("Diktieren").click();
  await appPage.button("Diktat beenden").waitFor();
  await appPage.button("Vorlesen").click();
  await see("voice");
  await appPage.button("Diktat beenden").click();

  fixture.model.answer(...["Ada", "Grace"].map((to) => call("send", { to })));
  await page.getByRole("textbox", { name: "Nachricht" }).fill("Sende zwei Briefe");
  await appPage.button("Senden").click();
  await appPage.button("Alle 2 erlauben").waitFor();
  await page.getByRole("textbox", { name: "Nachricht" }).fill("Und noch einen");
  await appPage.button("Nachricht einreihen").click();
  await page.getByText("Und noch einen").waitFor();
  await see("approval-and-queue");
  await appPage.button("Stoppen").click();
  await appPage.button("Stoppen").waitFor({ state: "hidden" });

  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Befehlspalette" }).getByRole("option").first().waitFor();
  await see("palette");
  await page.keyboard.press("Escape");
  await appPage.open("/?tab=servers");
  await appPage.button("Server finden").click();
  const sheet = page.getByRole("dialog", { name: "Server finden" });
  await sheet.getByText("Weather", { exact: true }).waitFor();
  await see("registry");
  await sheet.getByRole("button", { name: "Hinzufügen: Notes" }).click();
  await sheet.getByRole("textbox", { name: "Authorization" }).waitFor();
  await see("registry-form");
}
