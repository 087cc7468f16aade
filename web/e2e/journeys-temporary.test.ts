import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startApp } from "./app.ts";
import { inspect, looks } from "./look.ts";
import { call, say } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const post = await serveTools([
  { name: "send", description: "Sends a letter.", run: () => "It is on its way." },
]);
after(() => post.stop());

const about = "This chat isn't saved. It's deleted when you leave or reload.";

async function openTemporary(appPage: AppPage): Promise<void> {
  // No list of chats has to be loaded for it.
  await appPage.chatsButton.click();
  await appPage.button("New temporary chat").click();
  await appPage.sees(about);
}

const stored = ({ page }: AppPage) => page.evaluate(() => JSON.stringify(localStorage));

for (const [name, look] of looks) {
  test(`a temporary chat says that it is one, its tools ask, and a reload drops it, at ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    const kept = await account.newChat("Kept for good");
    await account.fill(kept, ["What is kept?", "This is."]);
    await account.connect("post", post.url);
    await appPage.open();
    await openTemporary(appPage);
    fixture.model.answer(call("send", { to: "Zerubbabel" }));
    fixture.model.answer(say("A quixotic letter is on its way."));
    await appPage.ask("Send a letter to Zerubbabel");
    const question = appPage.page.getByRole("region", { name: "Allow post to run send?", exact: true });
    await question.getByRole("button", { name: "Allow once" }).click();
    await appPage.answers.getByText("A quixotic letter is on its way.").waitFor();
    await appPage.answered();
    await appPage.composer.fill("Sycorax");
    await inspect(appPage, "temporary", look);
    assert.doesNotMatch(
      await stored(appPage),
      /Sycorax|Zerubbabel|quixotic/u,
      "the browser keeps none of it",
    );

    // Another tab of the screen is no leaving.
    await appPage.openTab("Tools");
    await appPage.openTab("Chat");
    await appPage.sees(about);
    assert.equal(await appPage.composer.inputValue(), "Sycorax");
    await appPage.openChats();
    await inspect(appPage, "temporary-menu", look);

    await appPage.page.reload();
    await appPage.answers.getByText("This is.").waitFor();
    await appPage.seesNo(about);
    await appPage.button("Chats (1)").waitFor();
    const { messages } = await account.call<{ messages: unknown[] }>("/api/search?q=quixotic");
    assert.deepEqual(messages, []);

    await openTemporary(appPage);
    await appPage.button("End").click();
    await appPage.answers.getByText("This is.").waitFor();
    await appPage.seesNo(about);
  });
}

test("a temporary chat whose server was killed is gone, and the page says so", async (t) => {
  const env = { OPENAI_BASE_URL: fixture.model.baseUrl };
  const app = await startApp({ env });
  const { appPage } = await fixture.openSignedInPage(t, { origin: app.url });
  await appPage.open();
  await openTemporary(appPage);
  fixture.model.answer(say("Not for long."));
  await appPage.ask("Are you there?");
  await appPage.answers.getByText("Not for long.").waitFor();
  await appPage.answered();
  await app.stop({ signal: "SIGKILL", keepData: true });
  const again = await startApp({ env, data: app.data, port: app.port });
  t.after(() => again.stop());
  await appPage.page
    .getByRole("status")
    .getByText(/^This temporary chat has ended/u)
    .waitFor({ timeout: 60_000 });
  await appPage.button("End").click();
  fixture.model.answer(say("Here to stay."));
  await appPage.ask("And now?");
  await appPage.answers.getByText("Here to stay.").waitFor();
  await eventually(() => appPage.answered());
});
