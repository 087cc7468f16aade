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
