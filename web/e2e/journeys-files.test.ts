import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { StatefulServer } from "./stateful-server.ts";
import { inspect, looks } from "./look.ts";
import { allowAll } from "./permission.ts";
import { drawnPng } from "./picture.ts";
import { call, raw, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const folder = await mkdtemp(join(tmpdir(), "catalogue-"));
test.after(() => rm(folder, { recursive: true }));
const catalogue = join(folder, "models.json");
const models = [{ name: "blind", images: false, pdf: false }];
const providers = [{ hosts: ["127.0.0.1"], models }];
await writeFile(catalogue, JSON.stringify({ date: "2026-11-20", providers }));
const fixture = await startFixture({ CHAT_MODEL_CATALOGUE: catalogue });
fixture.model.names = ["scripted", "blind"];

const cat = { name: "cat.png", mimeType: "image/png", buffer: drawnPng(300, 200) };
const report = { name: "report.pdf", mimeType: "application/pdf", buffer: Buffer.from("%PDF-1.7\n%%EOF\n") };
const notes = {
  name: "notes.md",
  mimeType: "text/markdown",
  buffer: Buffer.from("# Notes\nThe cat is grey.\n"),
};

/** Returns the latest user message that the model received, as blocks or plain text. */
function shown(): { type: string; text?: string; image_url?: { url: string }; file?: object }[] {
  const content = fixture.model.requests.at(-1)?.messages.findLast(({ role }) => role === "user")?.content;
  return Array.isArray(content) ? content : [{ type: "text", text: String(content) }];
}

const attach = (appPage: AppPage, ...files: { name: string; mimeType: string; buffer: Buffer }[]) =>
  appPage.page.locator("input[type=file]").setInputFiles(files);

const chips = ({ page }: AppPage) => page.getByRole("list", { name: "Attached files" });

/** A picture that is there and not only its box. */
async function drawn(appPage: AppPage, within = appPage.page.locator("body")): Promise<void> {
  await eventually(async () => {
    const widths = await within
      .getByRole("img")
      .evaluateAll((all) => all.map((one) => (one as HTMLImageElement).naturalWidth));
    assert.ok(widths.length > 0 && widths.every((width) => width > 0), String(widths));
  });
}

for (const [name, look] of looks) {
  test(`files go with a message and pictures come with the answer, at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, look);
    await appPage.open();
    await appPage.button("Attach files").waitFor();
    await attach(appPage, cat, report, notes);
    for (const file of [cat, report, notes]) await appPage.button(`Remove ${file.name}`).waitFor();
    await appPage.composer.fill("What is it?");
    await inspect(appPage, "files-composer", look);
    await appPage.page.reload();
    await appPage.button(`Remove ${notes.name}`).waitFor();

    const address = `data:image/png;base64,${drawnPng(320, 320).toString("base64")}`;
    const images = [{ type: "image_url", image_url: { url: address } }];
    const picture = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { images } }] })}\n\n`;
    fixture.model.answer(say("Something like this:"), raw(picture), say("A cat."));
    await appPage.send.click();
    await appPage.answered();
    const pieces = shown();
    assert.deepEqual(
      pieces.map(({ type }) => type),
      ["image_url", "file", "text"],
    );
    assert.equal(pieces[0]?.image_url?.url, `data:image/png;base64,${cat.buffer.toString("base64")}`);
    assert.match(pieces[2]?.text ?? "", /The cat is grey\.[^]*What is it\?$/u);
    assert.equal(
      await chips(appPage)
        .getByRole("button", { name: /^Remove/u })
        .count(),
      0,
    );

    const answer = appPage.answers.last();
    await drawn(appPage, answer);
    await drawn(appPage, appPage.questions.last());
    await inspect(appPage, "files-chat", look);
    await answer.getByRole("button", { name: "Enlarge Image" }).click();
    await appPage.sheet.getByRole("button", { name: "Save Image" }).waitFor();
    await inspect(appPage, "files-dialog", look);
    await appPage.page.keyboard.press("Escape");
    await appPage.page.reload();
    await drawn(appPage, answer);
    await appPage.questions
      .last()
      .getByRole("button", { name: /^Read.*notes\.md/u })
      .click();
    await appPage.sheet.getByText("The cat is grey.").waitFor();
  });
}

test("files are pasted, dropped, refused and tried again, and wait with a message", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1_280, height: 800 } });
  const { page, composer } = appPage;
  await appPage.open();
  await appPage.button("Attach files").waitFor();

  // A long text becomes a file, and words again when that is wanted; a picture is taken from the clipboard.
  const long = "All work and no play. ".repeat(200);
  const paste = (what: { text?: string; picture?: string }) =>
    composer.evaluate((field, { text, picture }) => {
      const clipboardData = new DataTransfer();
      if (text !== undefined) clipboardData.setData("text/plain", text);
      if (picture !== undefined) {
        const bytes = Uint8Array.from(atob(picture), (letter) => letter.charCodeAt(0));
        clipboardData.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
      }
      field.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }, what);
  await paste({ text: long });
  await chips(appPage)
    .getByRole("button", { name: /^Read.*Pasted text\.txt/u })
    .click();
  await appPage.sheet.getByRole("button", { name: "Insert into message" }).click();
  await eventually(async () => assert.equal(await composer.inputValue(), long));
  await composer.fill("Look.");
  await paste({ picture: cat.buffer.toString("base64") });
  await appPage.button("Remove pasted.png").waitFor();

  // A short text stays with the browser, which inserts it.
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.evaluate(() => navigator.clipboard.writeText("A short text."));
  await composer.fill("");
  await composer.press("Control+v");
  assert.equal(await composer.inputValue(), "A short text.");
  assert.equal(await chips(appPage).getByText("Pasted text").count(), 0);
  await composer.fill("Look.");

  // What is dropped is announced before, and taken.
  const transfer = await page.evaluateHandle(() => {
    const data = new DataTransfer();
    data.items.add(new File(["a,b\n1,2\n"], "table.csv", { type: "text/csv" }));
    return data;
  });
  await page.dispatchEvent("body", "dragover", { dataTransfer: transfer });
  await appPage.sees("Drop to attach");
  await page.dispatchEvent("body", "drop", { dataTransfer: transfer });
  await appPage.button("Remove table.csv").waitFor();
  assert.equal(await page.getByText("Drop to attach").count(), 0);

  // What cannot be taken says why, and keeps the message waiting until it is removed or tried again.
  const huge = { name: "huge.txt", mimeType: "text/plain", buffer: Buffer.alloc(10 * 1024 * 1024 + 1, "x") };
  await attach(appPage, huge);
  await page.getByRole("alert").getByText("Not attached: it's larger than 10 MiB").waitFor();
  assert.equal(await appPage.send.isDisabled(), true);
  await appPage.button("Remove huge.txt").click();
  await attach(appPage, {
    name: "a.zip",
    mimeType: "application/zip",
    buffer: Buffer.from("PK\u0003\u0004\0\0"),
  });
  await page
    .getByRole("alert")
    .getByText(/^Not attached: this kind of file cannot be attached/u)
    .waitFor();
  await appPage.button("Remove a.zip").click();
  await page.route("**/v1/files?*", (route) => route.abort());
  await attach(appPage, report);
  await appPage.button("Try report.pdf again").waitFor();
  await page.unroute("**/v1/files?*");
  await appPage.button("Try report.pdf again").click();
  await appPage.button("Remove report.pdf").waitFor();
  await appPage.button("Remove table.csv").click();

  // The message waits with its files while another is answered.
  const gate = Promise.withResolvers<void>();
  t.after(() => gate.resolve());
  await appPage.button("Remove report.pdf").click();
  await appPage.button("Remove pasted.png").click();
  fixture.model.answer(say("Wait."), { kind: "hold", until: gate.promise });
  await appPage.ask("First.");
  await appPage.stop.waitFor();
  await attach(appPage, cat);
  // Enter sends nothing while a file is on its way.
  await appPage.button("Remove cat.png").waitFor();
  await chips(appPage).getByRole("progressbar").waitFor({ state: "hidden" });
  fixture.model.answer(say("A cat."));
  await appPage.ask("And this?");
  await page.locator("p", { hasText: "And this?" }).waitFor();
  gate.resolve();
  await appPage.answers.nth(1).getByText("A cat.").waitFor();
  assert.deepEqual(
    shown().map(({ type }) => type),
    ["image_url", "text"],
  );
  await drawn(appPage, appPage.questions.last());
});

test("a model that takes no pictures is named before, and pictures and long results of tools are shown", async (t) => {
  const tools = [{ name: "photo", description: "Takes a picture.", inputSchema: { type: "object" } }];
  const server = await StatefulServer.start(tools);
  t.after(() => server.stop());
  const lines = Array.from({ length: 9_000 }, (_, index) => `Line ${index} of the film`).join("\n");
  const data = drawnPng(200, 150).toString("base64");
  server.acts["photo"] = () => ({
    content: [
      { type: "image", data, mimeType: "image/png" },
      { type: "text", text: lines },
    ],
  });
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1_280, height: 800 } });
  await account.connect("camera", server.url);
  await allowAll(account, "camera");
  await appPage.open();
  fixture.model.answer(call("photo", {}));
  fixture.model.answer(say("A picture."));
  await appPage.ask("Take a picture");
  await appPage.answered();
  // This wire holds no pictures in results: they follow, and it is said whose they are.
  assert.deepEqual(
    shown().map(({ type, text }) => text?.includes("photo gave it back") ?? type),
    [true, "image_url"],
  );
  const card = appPage.toolCall("photo");
  await card.getByRole("button").first().click();
  await card.getByRole("heading", { name: "Result" }).waitFor();
  await drawn(appPage, card);
  assert.equal(await card.getByText("Line 8999 of the film").count(), 0);
  await card.getByRole("button", { name: /^Show full result/u }).click();
  // A long text is folded, whoever gave it.
  await card.getByRole("button", { name: "Show all 9,000 lines" }).click();
  await card.getByText("Line 8999 of the film").waitFor();

  await appPage.button("Model: scripted").click();
  await appPage.page.getByRole("gridcell", { name: "blind" }).first().click();
  await appPage.button("Model: blind").waitFor();
  await attach(appPage, cat);
  await appPage.page.getByText(/^blind doesn.t accept images\./u).waitFor();
  await appPage.ask("What is it?");
  await appPage.answered();
  assert.deepEqual(
    shown().map(({ type }) => type),
    ["text"],
  );
  assert.match(shown()[0]?.text ?? "", /cat\.png/u);
});
