import assert from "node:assert/strict";
import { test } from "node:test";
import { newEmail } from "./account.ts";
import { eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { looks } from "./look.ts";
import { call, say } from "./scripted-model.ts";

const fixture = await startFixture();
/** Clicks that a new user needs at most, from the first page to the first result of a tool. */
const maxClicks = 6;

test("every prompt that the toolbox offers calls its tool with success", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.connectToolbox();
  const prompts = [
    [/^What time is it in Tokyo/u, "current_time", { timezone: "Asia/Tokyo" }, /\+09:00/u],
    [/^Add up 12\.50/u, "calculate", { expression: "12.50 + 8.90 + 31.20" }, /52\.6/u],
    [/^How many kilometers/u, "convert_units", { value: 26.2, from: "mile", to: "km" }, /42\.16/u],
    [/^How many days/u, "days_between", { from: "2027-03-01", to: "2027-06-15" }, /106/u],
  ] as const;
  for (const [label, tool, args, result] of prompts) {
    await appPage.open();
    if (tool !== "current_time") await appPage.newChat.click();
    await appPage.button(label).click();
    fixture.model.answer(call(tool, args));
    fixture.model.answer(say(`${tool} has answered.`));
    await appPage.send.click();
    await appPage.answers.getByText(`${tool} has answered.`).waitFor();
    assert.equal(await appPage.toolCall(tool).getAttribute("data-state"), "done");
    const messages = fixture.model.requests.at(-1)?.messages ?? [];
    assert.match(JSON.stringify(messages.find(({ role }) => role === "user")), new RegExp(tool, "u"));
    assert.match(JSON.stringify(messages.at(-1)), result, tool);
  }
});

for (const [name, look] of looks) {
  test(`a new user sees the first result of a tool after ${maxClicks} clicks at most, at ${name}`, async (t) => {
    const appPage = await fixture.openPage(t, look);
    // Every press counts, whatever it hits and wherever the page goes; keys do not.
    await appPage.page.addInitScript(() => {
      addEventListener(
        "pointerdown",
        ({ isTrusted }) => {
          if (isTrusted)
            sessionStorage.setItem("clicks", String(Number(sessionStorage.getItem("clicks")) + 1));
        },
        { capture: true },
      );
    });
    const clicks = () => appPage.page.evaluate(() => Number(sessionStorage.getItem("clicks")));
    const began = Date.now();
    await appPage.open("/");
    await appPage.arrivesAt("/auth");
    await appPage.signUp(newEmail());
    await appPage.arrivesAt("/");
    await appPage.button(/^Try the toolbox/u).click();
    await appPage.button(/^What time is it in Tokyo\?/u).click();
    fixture.model.answer(call("current_time", { timezone: "Asia/Tokyo" }));
    fixture.model.answer(say("It is evening in Tokyo."));
    await appPage.send.click();
    const used = appPage.toolCall("current_time");
    await used.waitFor();
    await eventually(async () => assert.equal(await used.getAttribute("data-state"), "done"));
    await appPage.answers.getByText("It is evening in Tokyo.").waitFor();
    const shown = Date.now() - began;
    const toolResult = fixture.model.requests.at(-1)?.messages.at(-1);
    assert.match(JSON.stringify(toolResult), /\+09:00/u, "the model has read what the tool returned");
    await used.getByRole("button", { expanded: false }).click();
    await used
      .getByText(/\+09:00/u)
      .first()
      .waitFor();
    const count = await clicks();
    t.diagnostic(`${count} clicks; the answer was there ${shown} ms after the first page was requested`);
    assert.ok(count >= 5, `only ${count} clicks were counted`);
    assert.ok(count <= maxClicks, `${count} clicks`);
  });
}
