import assert from "node:assert/strict";
import { test } from "node:test";
import { openStage } from "./stage.ts";
import { eventually } from "./visitor.ts";

const stage = await openStage();

test("a part that the network lost says so in its place, and comes with another try", async (t) => {
  const { visitor } = await stage.member(t);
  // The page does not get to fetch its parts before they are needed.
  let isDown = false;
  await visitor.page.route(/assets\/settings-sheet[^/]*\.js/u, (route) =>
    isDown ? route.abort() : route.fallback(),
  );
  isDown = true;
  await visitor.open();
  await visitor.composer.fill("Half a thought");
  await visitor.button("Settings").click();
  const failure = visitor.page
    .getByRole("alert")
    .filter({ hasText: "This part of the page couldn't be loaded." });
  await failure.waitFor();
  await failure.getByRole("button", { name: "Try again" }).click();
  await failure.waitFor();
  await visitor.seesNo("Something went wrong");
  isDown = false;
  await failure.getByRole("button", { name: "Try again" }).click();
  await visitor.sheet.waitFor();
  assert.equal(await visitor.composer.inputValue(), "Half a thought");
});

test("a page whose parts are not at the server any more says that there is a newer one", async (t) => {
  const { visitor } = await stage.member(t);
  const upgraded = { entry: "" };
  await visitor.page.route("/", async (route) => {
    if (route.request().resourceType() === "document") return route.fallback();
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(/\/assets\/index-[^"]+\.js/gu, "/assets/index-next.js");
    upgraded.entry = "asked";
    return route.fulfill({ response, body });
  });
  await visitor.page.route(/assets\/settings-sheet[^/]*\.js/u, (route) => route.fulfill({ status: 404 }));
  await visitor.open();
  await visitor.composer.fill("Half a thought");
  await visitor.button("Settings").click();
  await visitor.page.getByRole("status").getByText("A new version is available.").waitFor();
  await eventually(() => assert.equal(upgraded.entry, "asked"));
  await visitor.button("Reload").click();
  await visitor.composer.waitFor();
  assert.equal(await visitor.composer.inputValue(), "Half a thought");
});
