import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { inspect, looks } from "./look.ts";
import { hold, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();

const typescript = `// Mean wait in an M/M/1 queue: arrivals λ, service rate μ, both per minute.
export function meanWait(λ: number, μ: number): number {
  if (λ >= μ) throw new RangeError(\`unstable: \${λ} ≥ \${μ}\`);
  return λ / (μ * (μ - λ));
}

const steps = { intake: [4.2, 6], review: [4.2, 4.5] };`;
const diff = `--- a/wait.ts
+++ b/wait.ts
@@ -1,3 +1,3 @@
 export function wait() {
-  return 1;
+  return 2; // and a line that is so long that it does not fit beside the others in the column of an answer
 }`;
const long = Array.from({ length: 58 }, (_, line) => `print("line ${line + 1}")`).join("\n");
const fenced = (language: string, text: string) => `\`\`\`${language}\n${text}\n\`\`\``;
const answer = `The code:\n\n${fenced("ts", typescript)}\n\nThe change:\n\n${fenced("diff", diff)}\n\nThe rest:\n\n${fenced("python", long)}\n\nThe end.`;

const code = (appPage: AppPage) => appPage.answers.last().locator("pre code");
const colours = (appPage: AppPage) => code(appPage).locator("span[class^=code-]");

/** Lists the files that a page loads for rich answers. */
function richFiles({ page }: AppPage): string[] {
  const files: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/\/(?:rich-code|highlight)/u.test(pathname)) files.push(pathname);
  });
  return files;
}

for (const [name, look] of looks) {
  test(`code is coloured in both themes, in both widths: ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.fill(await account.newChat(), ["How?", answer]);
    await appPage.open();
    await eventually(async () => assert.ok((await colours(appPage).count()) > 70));
    for (const part of ["The code:", "The end."]) {
      await appPage.page.getByText(part, { exact: true }).scrollIntoViewIfNeeded();
      await inspect(appPage, `rich-code-${part === "The end." ? "end" : "start"}`, look);
    }
  });
}

test("text without code loads nothing for it, and code is coloured only when it is finished", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const files = richFiles(appPage);
  await appPage.open();
  fixture.model.answer(say("Some **words**, `a span` and\n\n- a list\n\n| a | b |\n| - | - |\n| 1 | 2 |"));
  await appPage.ask("Without code");
  await appPage.answered();
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(say(`\`\`\`ts\n${typescript}\n`), hold(rest.promise), say("```\n\nThe end."));
  await appPage.ask("With code");
  await code(appPage).getByText("const steps").waitFor();
  assert.deepEqual(files, []);
  const before = await code(appPage).boundingBox();
  rest.resolve();
  await eventually(async () => assert.ok((await colours(appPage).count()) > 12));
  assert.ok(files.length > 0);
  assert.deepEqual(await code(appPage).boundingBox(), before, "nothing moves");
  assert.equal(await code(appPage).textContent(), typescript);
  const kinds = await colours(appPage).evaluateAll((spans) =>
    spans.map(({ className, textContent }) => `${className} ${textContent.trim()}`),
  );
  for (const kind of ["code-keyword export function", "code-name meanWait", "code-number 4.2"])
    assert.ok(kinds.includes(kind), `${kind} in ${kinds.join(", ")}`);
  assert.ok(kinds.some((kind) => kind.startsWith("code-comment // Mean wait")));
});

test("long code is folded, can be opened, wrapped and saved, and is printed whole", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat(), ["How?", answer]);
  await appPage.open();
  const block = appPage.answers.locator("figure").last();
  await block.getByText("40 of 58 lines").waitFor();
  const height = () => block.evaluate((one) => one.getBoundingClientRect().height);
  const folded = await height();
  await appPage.page.emulateMedia({ media: "print" });
  assert.ok((await height()) > folded + 300, "all lines are printed");
  await appPage.page.emulateMedia({ media: "screen" });
  await block.getByRole("button", { name: "Show all 58 lines" }).press("Enter");
  assert.ok((await height()) > folded + 300);
  await block.getByRole("button", { name: "Show fewer lines" }).press("Enter");
  assert.equal(await height(), folded);
  const [file] = await Promise.all([
    appPage.page.waitForEvent("download"),
    block.getByRole("button", { name: "Download code" }).click(),
  ]);
  assert.equal(file.suggestedFilename(), "code.py");
  assert.equal(await readFile(await file.path(), "utf8"), long);
  const wide = appPage.answers.locator("figure").first();
  const overflow = () => wide.locator("pre").evaluate((one) => one.scrollWidth - one.clientWidth);
  await appPage.page.setViewportSize({ width: 320, height: 640 });
  assert.ok((await overflow()) > 0);
  await wide.getByRole("button", { name: "Wrap lines" }).click();
  assert.equal(await overflow(), 0);
});

/** Code that is slow to read, or tries to become markup. */
const hostileCode: readonly [name: string, language: string, text: string][] = [
  ["markup", "html", `<img src="https://evil.example/x.png" onerror="alert(1)"><script>alert(2)</script>`],
  ["a language that is markup", `"><img/src=x/onerror=alert(1)>`, "x"],
  ["a language of the prototype", "constructor", "x"],
  ["one very long line", "ts", "a+".repeat(60_000)],
  ["brackets in each other", "ts", "([{".repeat(5_000)],
  ["open comments", "css", "/*".repeat(20_000)],
  ["nested templates", "ts", "`${".repeat(3_000)],
  ["nested markup", "html", "<div>".repeat(15_000)],
  ["many lines", "python", "x = 'a' + 1\n".repeat(8_000)],
  ["quotes", "php", `<?php ${"'\"".repeat(20_000)}`],
];

test("hostile code is shown as it is, runs no script and asks no other host", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  const foreign: string[] = [];
  appPage.page.on("request", (request) => {
    if (!request.url().startsWith(fixture.app.url) && !request.url().startsWith("blob:"))
      foreign.push(request.url());
  });
  const dialogs: string[] = [];
  appPage.page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  const all = hostileCode.map(([, language, text]) => fenced(language, text)).join("\n\n");
  await account.fill(await account.newChat(), ["How?", `${all}\n\n${fenced("ts", "const last = 1")}`]);
  await appPage.open();
  // Each has a time limit, and what comes after them is coloured all the same.
  await code(appPage).last().locator("span.code-keyword").waitFor({ timeout: 60_000 });
  const shown = await code(appPage).allTextContents();
  for (const [at, [name, , text]] of hostileCode.entries())
    assert.equal(shown[at]?.trimEnd(), text.trimEnd(), name);
  assert.deepEqual([foreign, dialogs], [[], []]);
});
