import assert from "node:assert/strict";
import { test } from "node:test";
import { startFixture } from "./fixture.ts";
import { eventually } from "./app-page.ts";

const fixture = await startFixture();

test("a part that the network lost says so in its place, and comes with another try", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  // The page does not get to fetch its parts before they are needed.
  let isDown = false;
  await appPage.page.route(/assets\/settings-panel[^/]*\.js/u, (route) =>
    isDown ? route.abort() : route.fallback(),
  );
  isDown = true;
  await appPage.open();
  await appPage.composer.fill("Half a thought");
  await appPage.pressInHeader("Settings");
  const failure = appPage.page
    .getByRole("alert")
    .filter({ hasText: "This part of the page couldn't be loaded." });
  await failure.waitFor();
  // The page loads itself anew, because the browser may keep the failed module. The failure is shown until then.
  const reloaded = appPage.page.waitForEvent("load");
  await failure.getByRole("button", { name: "Try again" }).click();
  await reloaded;
  await failure.waitFor();
  await appPage.seesNo("Something went wrong");
  isDown = false;
  await failure.getByRole("button", { name: "Try again" }).click();
  await appPage.sheet.waitFor();
  assert.equal(await appPage.composer.inputValue(), "Half a thought");
});

test("a page whose parts are not at the server any more says that there is a newer one", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const upgraded = { entry: "" };
  await appPage.page.route("/", async (route) => {
    if (route.request().resourceType() === "document") return route.fallback();
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(/\/assets\/index-[^"]+\.js/gu, "/assets/index-next.js");
    upgraded.entry = "asked";
    return route.fulfill({ response, body });
  });
  await appPage.page.route(/assets\/settings-panel[^/]*\.js/u, (route) => route.fulfill({ status: 404 }));
  await appPage.open();
  await appPage.composer.fill("Half a thought");
  await appPage.pressInHeader("Settings");
  await appPage.page.getByRole("status").getByText("A new version is available.").waitFor();
  await eventually(() => assert.equal(upgraded.entry, "asked"));
  await appPage.button("Reload").click();
  await appPage.composer.waitFor();
  assert.equal(await appPage.composer.inputValue(), "Half a thought");
  // The reloaded page asks for its version once more, perhaps after the end of the test.
  await appPage.page.unrouteAll({ behavior: "ignoreErrors" });
});
