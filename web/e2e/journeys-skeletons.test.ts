import assert from "node:assert/strict";
import { test } from "node:test";
import type { Locator } from "playwright-core";
import type { AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { say } from "./scripted-model.ts";

const fixture = await startFixture();
/** Milliseconds before a placeholder can be seen. */
const delayMs = 150;

/** Returns how opaque an element is at moments of its animation, in milliseconds after it was added. */
function opacityAt(element: Locator, moments: readonly number[]): Promise<number[]> {
  return element.evaluate((placeholder, times) => {
    if (!(placeholder instanceof HTMLElement)) throw new Error("it has no style");
    // From its start again: an animation that is over is no longer there.
    placeholder.style.setProperty("animation", "none", "important");
    placeholder.getAnimations();
    placeholder.style.removeProperty("animation");
    const [animation] = placeholder.getAnimations();
    if (!animation) throw new Error("it is shown at once");
    animation.pause();
    return times.map((time) => {
      animation.currentTime = time;
      return Number(getComputedStyle(placeholder).opacity);
    });
  }, moments);
}

interface Place {
  path: string;
  /** The request whose answer is awaited. */
  request: string;
  placeholder: (appPage: AppPage) => Locator;
  content: (appPage: AppPage) => Locator;
}

const places: Record<string, Place> = {
  "the messages of a chat": {
    path: "/",
    request: "**/rest/v1/ai_chat_messages*",
    placeholder: ({ page }) =>
      page.getByRole("group", { name: "Conversation" }).locator("> [aria-hidden=true]"),
    content: ({ answers }) => answers.getByText("An answer."),
  },
  "the connections": {
    path: "/?tab=servers",
    request: "**/rest/v1/mcp_servers*",
    placeholder: ({ page }) => page.getByRole("region", { name: "Active Connections" }).getByRole("status"),
    content: (appPage) => appPage.connection("toolbox"),
  },
};

for (const [what, { path, request, placeholder, content }] of Object.entries(places)) {
  for (const reducedMotion of ["no-preference", "reduce"] as const) {
    test(`placeholders of ${what} come after ${delayMs} ms, with motion: ${reducedMotion}`, async (t) => {
      const { account, appPage } = await fixture.openSignedInPage(t, { reducedMotion });
      await account.connectToolbox();
      fixture.model.answer(say("An answer."));
      await account.say(await account.newChat(), "A question");
      const answer = Promise.withResolvers<void>();
      await appPage.page.route(request, async (route) => {
        await answer.promise;
        await route.continue();
      });
      await appPage.open(path);
      const shown = placeholder(appPage);
      await shown.waitFor({ state: "attached" });
      const [early, late] = await opacityAt(shown, [delayMs - 1, delayMs + 1_000]);
      assert.deepEqual({ early, late }, { early: 0, late: 1 });
      answer.resolve();
      await content(appPage).waitFor();
      assert.equal(await shown.count(), 0);
    });
  }
}
