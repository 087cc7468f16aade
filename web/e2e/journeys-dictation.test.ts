import assert from "node:assert/strict";
import { test } from "node:test";
import type { AppPage } from "./app-page.ts";
import { inspect, looks } from "./look.ts";
import { Settings } from "./settings.ts";
import { startFixture } from "./fixture.ts";

const fixture = await startFixture();
fixture.model.names = ["scripted", "whisper-1"];

/** Marks the document while a recording is being made. */
async function markRecording({ page }: AppPage): Promise<void> {
  await page.addInitScript(() => {
    globalThis.MediaRecorder = class extends MediaRecorder {
      override start(): void {
        const root = document.documentElement;
        this.addEventListener("start", () => root.setAttribute("data-recording", ""));
        this.addEventListener("stop", () => root.removeAttribute("data-recording"));
        super.start();
      }
    };
  });
}

/** Waits until the page records, and ends it. */
async function stopDictation(appPage: AppPage): Promise<void> {
  await appPage.page.locator("[data-recording]").waitFor();
  await appPage.button("Stop dictation").click();
}

for (const [name, look] of looks) {
  test(`a model writes what is dictated, at ${name}`, async (t) => {
    const { appPage } = await fixture.openSignedInPage(t, { ...look, permissions: ["microphone"] });
    const { page } = appPage;
    fixture.model.transcript = "buy milk and bread.";
    fixture.model.transcriptions.length = 0;
    await markRecording(appPage);
    await appPage.open();
    // Chromium's own recognition is there, and needs a service that nothing reaches here.
    const settings = await Settings.open(appPage, "Models");
    const choice = settings.panel.getByRole("radiogroup", { name: "Dictation" });
    assert.ok(await choice.getByLabel("Browser").isChecked());
    await choice.getByText("Model", { exact: true }).click();
    await inspect(appPage, "dictation-setting", look);
    await settings.button("Close").first().click();

    await appPage.composer.fill("Note:");
    await appPage.button("Dictate").click();
    await appPage.button("Stop dictation").waitFor();
    await inspect(appPage, "dictation-listening", look);
    await stopDictation(appPage);
    await page.waitForFunction(
      () => document.querySelector<HTMLTextAreaElement>("textarea[aria-label=Message]")?.value !== "Note:",
    );
    assert.equal(await appPage.composer.inputValue(), "Note: buy milk and bread.");
    await appPage.button("Dictate").waitFor();

    const [recording] = fixture.model.transcriptions;
    assert.deepEqual(recording?.fields, { model: "whisper-1", response_format: "json", language: "en" });
    assert.deepEqual([recording.name, recording.type], ["audio.webm", "audio/webm"]);
    assert.deepEqual([...recording.bytes.subarray(0, 4)], [0x1a, 0x45, 0xdf, 0xa3], "it is WebM");
  });
}

test("a browser without speech recognition dictates to the model, and without one it has no button", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, { permissions: ["microphone"] });
  await appPage.page.addInitScript(() => {
    for (const name of ["SpeechRecognition", "webkitSpeechRecognition"])
      Object.defineProperty(globalThis, name, { value: undefined });
  });
  await markRecording(appPage);
  fixture.model.transcript = "Hello";
  await appPage.open();
  await appPage.button("Dictate").click();
  await stopDictation(appPage);
  await appPage.page.waitForFunction(
    () => document.querySelector<HTMLTextAreaElement>("textarea[aria-label=Message]")?.value === "Hello",
  );
  await appPage.page.route("**/api/models", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ json: { ...((await response.json()) as object), transcription: null } });
  });
  await appPage.page.reload();
  await appPage.composer.waitFor();
  await appPage.button("Model: scripted").waitFor();
  assert.equal(await appPage.button("Dictate").count(), 0);
});
