import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { focusedName, inspect, looks, reach } from "./look.ts";
import { serveTools } from "./scripted-mcp.ts";
import { call, hold, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();
const sidebar = ({ page }: AppPage) => page.getByRole("complementary", { name: "Chats" });
const row = (appPage: AppPage, title: RegExp) => sidebar(appPage).getByRole("button", { name: title });
const chat = ({ page }: AppPage, title: string) => page.getByRole("region", { name: title, exact: true });

async function openChats(t: TestContext, viewport = { width: 1280, height: 800 }) {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport });
  for (const title of ["Third", "Second"])
    await account.fill(await account.newChat(title), [`Question of ${title}`, "An answer"]);
  const first = await account.newChat("First");
  await account.call(`/api/sessions/${first}/marks`, { pinned: true }, {}, "PUT");
  await appPage.open();
  await chat(appPage, "First").waitFor();
  return { account, appPage };
}

test("the sidebar lists the chats by date, finds them and opens them, beside the dropdown", async (t) => {
  const { appPage } = await openChats(t);
  const groups = sidebar(appPage).getByRole("group").getByRole("group");
  await groups.first().waitFor();
  assert.deepEqual(await groups.getByRole("heading").allTextContents(), ["Pinned", "Today"]);
  await row(appPage, /^Third/u).click();
  await chat(appPage, "Third").waitFor();
  assert.equal(await row(appPage, /^Third/u).getAttribute("aria-current"), "true");
  await sidebar(appPage).getByRole("searchbox", { name: "Search chats" }).fill("Question of Second");
  await sidebar(appPage).getByRole("group", { name: "Messages" }).getByRole("button").first().click();
  await chat(appPage, "Second").waitFor();
  await appPage.button("Chats (3)").waitFor();
});

test("a row of the sidebar has the chat's menu when it is pointed at or focused", async (t) => {
  const { appPage } = await openChats(t);
  await row(appPage, /^Third/u).hover();
  await appPage.button("More for Third").click();
  await appPage.menuItem("Rename").click();
  await appPage.field("Chat title").fill("Renamed");
  await appPage.page.keyboard.press("Enter");
  await row(appPage, /^Renamed/u).waitFor();
  await row(appPage, /^Second/u).focus();
  await reach(appPage, "More for Second");
  await appPage.page.keyboard.press("Enter");
  await appPage.menuItem("Delete").click();
  await appPage.button("Chats (2)").waitFor();
});

test("marks say which chats run, wait for the user, and have a new answer", async (t) => {
  const { account, appPage } = await openChats(t);
  await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
  const held = Promise.withResolvers<void>();
  fixture.model.answer(hold(held.promise), say("Done."));
  await row(appPage, /^Third/u).click();
  await chat(appPage, "Third").waitFor();
  await appPage.ask("Take your time");
  await row(appPage, /^Second/u).click();
  await row(appPage, /^Third Answering/u).waitFor();
  held.resolve();
  await row(appPage, /^Third New answer/u).waitFor();
  await appPage.page.reload();
  await row(appPage, /^Third New answer/u).click();
  await row(appPage, /^Third$/u).waitFor();
});

test("a chat that waits for the user is marked until it is answered", async (t) => {
  const { account, appPage } = await openChats(t);
  const server = await serveTools([{ name: "send", run: () => "Sent." }]);
  t.after(() => server.stop());
  await account.connect("post", server.url);
  await row(appPage, /^Third/u).click();
  await chat(appPage, "Third").waitFor();
  fixture.model.answer(call("send", {}));
  fixture.model.answer(say("It is on its way."));
  await appPage.ask("Send it");
  await row(appPage, /^Third Waiting for you$/u).waitFor();
  await row(appPage, /^Second/u).click();
  await chat(appPage, "Second").waitFor();
  await eventually(async () =>
    assert.equal(await appPage.page.title(), "(1) send in “Third” needs your approval · AI Chat MCP"),
  );
  await row(appPage, /^Third Waiting for you$/u).click();
  await appPage.button("Allow once").click();
  await appPage.answers.getByText("It is on its way.").waitFor();
  await row(appPage, /^Third$/u).waitFor();
});

test("on a wide touch screen every row of the sidebar shows its menu button", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 1280, height: 800 },
    hasTouch: true,
  });
  for (const title of ["Second", "First"]) await account.newChat(title);
  await appPage.open();
  for (const title of ["First", "Second"]) {
    const menu = sidebar(appPage).getByRole("button", { name: `More for ${title}` });
    await menu.waitFor();
    assert.ok(await menu.evaluate((button) => button.checkVisibility({ opacityProperty: true })));
  }
  await sidebar(appPage).getByRole("button", { name: "More for Second" }).tap();
  await appPage.menuItem("Rename").waitFor();
});

test("the sidebar is resized and hidden by pointer and keyboard, and stays as it was left", async (t) => {
  const { appPage } = await openChats(t);
  const { page } = appPage;
  const width = async () => (await sidebar(appPage).boundingBox())?.width;
  const handle = page.getByRole("separator", { name: "Sidebar width" });
  assert.equal(await width(), 272);
  await page.mouse.move(271, 400);
  await page.mouse.down();
  await page.mouse.move(331, 400);
  await page.mouse.up();
  await eventually(async () => assert.equal(await width(), 332));
  await handle.focus();
  await page.keyboard.press("ArrowLeft");
  await eventually(async () => assert.equal(await width(), 316));
  await page.reload();
  await row(appPage, /^Third/u).waitFor();
  assert.equal(await width(), 316);
  await sidebar(appPage).getByRole("button", { name: "Hide sidebar" }).click();
  await eventually(async () => assert.equal(await focusedName(appPage), "Show sidebar"));
  await page.reload();
  await chat(appPage, "First").waitFor();
  assert.equal(await sidebar(appPage).count(), 0);
  await appPage.button("Show sidebar").click();
  await row(appPage, /^Third/u).waitFor();
});

test("nothing moves while the sidebar is loaded, and a narrow window has none", async (t) => {
  const { appPage } = await openChats(t);
  await appPage.page.addInitScript(() => {
    const shifts: string[] = [];
    Object.assign(globalThis, { shifts });
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        const { sources } = entry as unknown as { sources: { node: Node | null }[] };
        for (const { node } of sources) {
          const element = node instanceof Element ? node : node?.parentElement;
          // The heads fill in their counts of tools and chats.
          if (element?.closest("main") && !element.closest("[data-head]"))
            shifts.push(element.outerHTML.slice(0, 200));
        }
      }
    }).observe({ type: "layout-shift", buffered: true });
  });
  await appPage.page.reload();
  await row(appPage, /^Third/u).waitFor();
  await appPage.page.waitForLoadState("networkidle").catch(() => undefined);
  const shifts = await appPage.page.evaluate(() => (globalThis as unknown as { shifts: string[] }).shifts);
  assert.deepEqual(shifts, []);
  await appPage.page.setViewportSize({ width: 1199, height: 800 });
  await sidebar(appPage).waitFor({ state: "detached" });
});

for (const [name, look] of looks.filter(([, { viewport }]) => viewport.width >= 1200)) {
  test(`the sidebar is free of accessibility faults at ${name}, and fits`, async (t) => {
    const { account, appPage } = await openChats(t, look.viewport);
    const held = Promise.withResolvers<void>();
    await account.connect("my-tools", `${fixture.app.url}/mcp/toolbox`);
    fixture.model.answer(call("current_time", {}));
    fixture.model.answer(hold(held.promise), say("Done."));
    await row(appPage, /^Second/u).click();
    await appPage.ask("What time is it?");
    await row(appPage, /^First/u).click();
    await row(appPage, /^Second (?:Answering|Waiting)/u).waitFor();
    await row(appPage, /^Third/u).hover();
    await inspect(appPage, "sidebar", look);
    await sidebar(appPage).getByRole("searchbox").fill("question");
    await sidebar(appPage).getByRole("group", { name: "Messages" }).waitFor();
    await inspect(appPage, "sidebar-search", look);
    held.resolve();
  });
}
