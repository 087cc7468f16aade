import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startApp } from "./app.ts";
import { inspect, looks } from "./look.ts";
import { call, say } from "./scripted-model.ts";
import { serveTools } from "./scripted-mcp.ts";
import { openStage } from "./stage.ts";
import { eventually, type Visitor } from "./visitor.ts";

const stage = await openStage();
const post = await serveTools([
  { name: "send", description: "Sends a letter.", run: () => "It is on its way." },
]);
after(() => post.stop());

const about = "This chat isn't saved. It's deleted when you leave or reload.";

async function openTemporary(visitor: Visitor): Promise<void> {
  // No list of chats has to be loaded for it.
  await visitor.chatsButton.click();
  await visitor.button("New temporary chat").click();
  await visitor.sees(about);
}

const stored = ({ page }: Visitor) => page.evaluate(() => JSON.stringify(localStorage));

for (const [name, look] of looks) {
  test(`a temporary chat says that it is one, its tools ask, and a reload drops it, at ${name}`, async (t) => {
    const { account, visitor } = await stage.member(t, look);
    const kept = await account.newChat("Kept for good");
    await account.fill(kept, ["What is kept?", "This is."]);
    await account.connect("post", post.url);
    await visitor.open();
    await openTemporary(visitor);
    stage.model.answer(call("send", { to: "Zerubbabel" }));
    stage.model.answer(say("A quixotic letter is on its way."));
    await visitor.ask("Send a letter to Zerubbabel");
    const question = visitor.page.getByRole("region", { name: "Allow post to run send?", exact: true });
    await question.getByRole("button", { name: "Allow once" }).click();
    await visitor.answers.getByText("A quixotic letter is on its way.").waitFor();
    await visitor.answered();
    await visitor.composer.fill("Sycorax");
    await inspect(visitor, "temporary", look);
    assert.doesNotMatch(
      await stored(visitor),
      /Sycorax|Zerubbabel|quixotic/u,
      "the browser keeps none of it",
    );

    // Another tab of the screen is no leaving.
    await visitor.openTab("Tools");
    await visitor.openTab("Chat");
    await visitor.sees(about);
    assert.equal(await visitor.composer.inputValue(), "Sycorax");
    await visitor.openChats();
    await inspect(visitor, "temporary-menu", look);

    await visitor.page.reload();
    await visitor.answers.getByText("This is.").waitFor();
    await visitor.seesNo(about);
    await visitor.button("Chats (1)").waitFor();
    const { messages } = await account.call<{ messages: unknown[] }>("/api/search?q=quixotic");
    assert.deepEqual(messages, []);

    await openTemporary(visitor);
    await visitor.button("End").click();
    await visitor.answers.getByText("This is.").waitFor();
    await visitor.seesNo(about);
  });
}

test("a temporary chat whose server was killed is gone, and the page says so", async (t) => {
  const env = { OPENAI_BASE_URL: stage.model.baseUrl };
  const app = await startApp({ env });
  const { visitor } = await stage.member(t, { origin: app.url });
  await visitor.open();
  await openTemporary(visitor);
  stage.model.answer(say("Not for long."));
  await visitor.ask("Are you there?");
  await visitor.answers.getByText("Not for long.").waitFor();
  await visitor.answered();
  await app.stop({ signal: "SIGKILL", keepData: true });
  const again = await startApp({ env, data: app.data, port: app.port });
  t.after(() => again.stop());
  await visitor.page
    .getByRole("status")
    .getByText(/^This temporary chat has ended/u)
    .waitFor({ timeout: 60_000 });
  await visitor.button("End").click();
  stage.model.answer(say("Here to stay."));
  await visitor.ask("And now?");
  await visitor.answers.getByText("Here to stay.").waitFor();
  await eventually(() => visitor.answered());
});
