import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, test } from "node:test";
import type { Frame, FrameLocator, JSHandle, Locator, Page } from "playwright-core";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import {
  hostileMarkdown,
  hostileMermaid,
  hostilePages,
  hostileSvg,
  hostileTex,
  leavingPages,
} from "./hostile-corpus.ts";

const fixture = await startFixture();

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

const filled = (texts: readonly string[]) =>
  texts.map((text) => text.replaceAll("{host}", host).replaceAll("{run}", "pwned=1"));
const fenced = (info: string, text: string) => `~~~~${info}\n${text}\n~~~~`;
const figures = ({ answers }: AppPage) => answers.last().locator("figure");
const inner = (frames: FrameLocator) => frames.frameLocator("iframe");
const previewed = ({ page }: AppPage) =>
  inner(page.getByLabel("Preview", { exact: true }).and(page.locator("aside")).frameLocator("iframe"));

/** Opens a chat with a message of the model for each text. */
async function openChat(t: Parameters<typeof fixture.openSignedInPage>[0], texts: readonly string[]) {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  const incidents: string[] = [];
  appPage.page.on("dialog", (dialog) => {
    incidents.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  const messages = texts.flatMap((text, at) => [
    `Text ${at}`,
    `Answer ${at}\n\n${text}\n\nThe end of ${at}.`,
  ]);
  await account.fill(await account.newChat(), messages);
  await appPage.open();
  appPage.page.on("framenavigated", (frame) => {
    const url = new URL(frame.url());
    const isSandbox = url.origin === appPage.origin && url.pathname === "/sandbox/preview";
    const isInSandbox = url.protocol === "about:" || isBlocked(frame);
    if (frame.parentFrame() === null || (!isSandbox && !isInSandbox))
      incidents.push(`navigation: ${url.href}`);
  });
  return { appPage, incidents };
}

/** Checks that no script has run in the page, that it has asked no other host, and that no frame has left. */
async function assertUnharmed({ page }: AppPage, incidents: readonly string[]): Promise<void> {
  assert.deepEqual(await page.evaluate(() => [Reflect.get(globalThis, "pwned"), location.pathname]), [
    undefined,
    "/",
  ]);
  assert.ok(!(await page.title()).includes("pwned"));
  assert.deepEqual([asked, incidents, page.context().pages().length], [[], [], 1]);
}

/** Returns the parts of the answers and of a preview that could run a script or load something. */
function dangerousParts({ page }: AppPage): Promise<string[]> {
  return page.evaluate(() =>
    [
      ...document.querySelectorAll("[aria-label=Conversation] .markdown *, aside[aria-label=Preview] *"),
    ].flatMap((element) => {
      const attributes = [...element.attributes].filter(
        ({ name, value }) =>
          name.startsWith("on") ||
          name === "srcdoc" ||
          (/^(?:href|src|action|data|xlink:href|poster)$/u.test(name) &&
            !/^(?:https?:|mailto:)/iu.test(value)) ||
          (name === "style" && /url\(/iu.test(value)),
      );
      const isLoading = element.matches(
        "script, style, link, meta, base, img, image, iframe, object, embed, video, audio, form, template, use",
      );
      return isLoading || attributes.length > 0 ? [element.outerHTML.slice(0, 200)] : [];
    }),
  );
}

for (const [name, texts] of [
  ["Markdown", filled(hostileMarkdown)],
  ["formulas", filled(hostileTex).flatMap((tex) => [`A $${tex}$ b`, `$$\n${tex}\n$$`])],
] as const) {
  test(`hostile ${name} run no script and ask no other host`, async (t) => {
    // Several answers of some texts each: one text that is taken for a part of another must not hide it.
    const { appPage, incidents } = await openChat(
      t,
      Array.from({ length: Math.ceil(texts.length / 8) }, (_, at) =>
        texts.slice(at * 8, at * 8 + 8).join("\n\n---\n\n"),
      ),
    );
    await appPage.answers
      .last()
      .getByText(/^The end of/u)
      .waitFor();
    // Everything is drawn, formulas and colours included.
    if (name === "formulas") await appPage.answers.locator(".katex").first().waitFor();
    const conversation = appPage.page.getByLabel("Conversation");
    await conversation.evaluate(async (element) => {
      for (let at = element.scrollHeight; at > 0; at -= 600) {
        element.scrollTop = at;
        await new Promise(requestAnimationFrame);
      }
    });
    assert.ok((await appPage.page.locator("[aria-label='Conversation'] .markdown *").count()) > texts.length);
    assert.deepEqual(await dangerousParts(appPage), []);
    // What a person could press does not run anything either. Images of other hosts wait for a click of their own.
    await appPage.page.evaluate(() => {
      for (const element of document.querySelectorAll(".markdown *")) {
        if (element.closest("a, button")) continue;
        element.dispatchEvent(new MouseEvent("click", { bubbles: true }));
        element.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
      }
    });
    await assertUnharmed(appPage, incidents);
  });
}

test("hostile diagrams run no script, not even in their sandbox, and ask no other host", async (t) => {
  const texts = filled(hostileMermaid);
  const { appPage, incidents } = await openChat(t, [
    texts.map((text) => fenced("mermaid", text)).join("\n\n"),
  ]);
  await eventually(async () => assert.equal(await figures(appPage).count(), texts.length));
  let drawn = 0;
  for (const [at, text] of texts.entries()) {
    const block = figures(appPage).nth(at);
    await block.getByRole("button", { name: "Show diagram" }).click();
    await block.locator("[data-diagram=drawn], [data-diagram=failed]").waitFor();
    if ((await block.locator("iframe").count()) > 0) {
      drawn += 1;
      const diagram = inner(block.frameLocator("iframe")).locator("#diagram");
      const marks = await diagram.evaluate(async (box) => {
        for (const element of box.querySelectorAll("*")) {
          element.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true }));
          element.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
        }
        // A navigation and the errors of images follow later.
        await new Promise((resolve) => setTimeout(resolve, 60));
        return [Reflect.get(globalThis, "pwned"), Reflect.get({}, "pwned")];
      });
      assert.deepEqual(marks, [undefined, undefined], text);
      assert.deepEqual(await diagram.evaluate(runningParts), [], text);
      const saved = await savedDiagram(appPage.page, block);
      assert.deepEqual(await saved.evaluate(runningParts), [], `saved: ${text}`);
      assert.ok(!hasBlockedFrame(appPage.page), `a click leaves the diagram: ${text}`);
    }
    await block.getByRole("button", { name: "Show code" }).click();
  }
  assert.ok(drawn > texts.length / 2, `only ${drawn} were drawn`);
  await assertUnharmed(appPage, incidents);
});

/** Returns true for an image of this SVG that is loaded, or has failed to. Runs in the page. */
function isDrawnFrom(image: Element, svg: string): boolean {
  // An image is given the namespace that the text can do without.
  const namespace = ' xmlns="http://www.w3.org/2000/svg"';
  return (
    image instanceof HTMLImageElement &&
    image.complete &&
    decodeURIComponent(image.src).replace(namespace, "").includes(svg.replace(namespace, "").trim())
  );
}

test("hostile images run no script and ask no other host", async (t) => {
  const texts = filled(hostileSvg);
  const { appPage, incidents } = await openChat(t, [texts.map((text) => fenced("svg", text)).join("\n\n")]);
  const openers = appPage.answers.last().getByRole("button", { name: "Open preview" });
  await eventually(async () => assert.equal(await openers.count(), texts.length));
  for (const at of texts.keys()) {
    await openers.nth(at).click();
    await eventually(async () =>
      assert.ok(
        await previewed(appPage)
          .locator("img")
          .evaluate(isDrawnFrom, texts[at] ?? ""),
        texts[at],
      ),
    );
    // The image is all there is: markup that leaves it would stand beside it.
    assert.deepEqual(
      await previewed(appPage)
        .locator("body")
        .evaluate(({ children }) => [...children].map(({ tagName }) => tagName)),
      ["IMG"],
      texts[at],
    );
  }
  await assertUnharmed(appPage, incidents);
});

test("hostile texts in previews of Markdown, tables and JSON run no script and ask no other host", async (t) => {
  const texts = filled([...hostileMarkdown, ...hostileSvg, ...hostilePages]);
  const cell = (text: string) => `"${text.replaceAll('"', '""')}"`;
  const { appPage, incidents } = await openChat(t, [
    [
      fenced("md", `${texts.join("\n\n---\n\n")}\n\nThe last line.`),
      fenced("csv", ["name,text", ...texts.map((text, at) => `row ${at},${cell(text)}`)].join("\n")),
      fenced("json", JSON.stringify(Object.fromEntries(texts.map((text, at) => [`${at} ${text}`, text])))),
    ].join("\n\n"),
  ]);
  const openers = appPage.answers.last().getByRole("button", { name: "Open preview" });
  const preview = appPage.page.getByLabel("Preview", { exact: true }).and(appPage.page.locator("aside"));
  for (const [at, sign] of ["The last line.", `row ${texts.length - 1}`, `0 ${texts[0]}`].entries()) {
    await openers.nth(at).click();
    await preview.getByText(sign).first().waitFor();
    assert.deepEqual(await dangerousParts(appPage), []);
    await appPage.page.evaluate(() => {
      for (const element of document.querySelectorAll("aside[aria-label=Preview] :is(td, p, li, code)"))
        element.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
    });
  }
  await assertUnharmed(appPage, incidents);
});

test("hostile pages run no script outside the sandbox and ask no other host", async (t) => {
  const staying = filled(hostilePages);
  const leaving = filled(leavingPages);
  const pages = [...staying, ...leaving];
  // Control: what the frame may do arrives, after everything that the pages before it began.
  const control = `<p id="a"></p><script>setTimeout(() => { a.textContent = "alive" }, 500)</script>`;
  const blocks = [
    ...pages.map((text, at) => `<title>Page ${at}</title>${text}<p>the end of ${at}</p>`),
    control,
  ];
  const { appPage, incidents } = await openChat(t, [blocks.map((text) => fenced("html", text)).join("\n\n")]);
  const openers = appPage.answers.last().getByRole("button", { name: "Open preview" });
  await eventually(async () => assert.equal(await openers.count(), blocks.length));
  for (const at of pages.keys()) {
    await openers.nth(at).click();
    if (at < staying.length)
      await previewed(appPage).getByText(`the end of ${at}`, { exact: true }).waitFor();
    else await eventually(() => assert.ok(hasBlockedFrame(appPage.page), pages[at]));
  }
  await openers.last().click();
  await previewed(appPage).getByText("alive").waitFor();
  await assertUnharmed(appPage, incidents);
});

/** Returns the parts of a diagram that could run a script. Runs in the page. */
function runningParts(diagram: Element): string[] {
  return [diagram, ...diagram.querySelectorAll("*")]
    .filter(
      (element) =>
        element.matches("script, iframe, object, embed") ||
        [...element.attributes].some(
          ({ name, value }) => name.startsWith("on") || /^\s*(?:javascript|data):/iu.test(value),
        ),
    )
    .map(({ outerHTML }) => outerHTML.slice(0, 200));
}

/** Saves a drawn diagram and reads the file. */
async function savedDiagram(page: Page, block: Locator): Promise<JSHandle<Element>> {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    block.getByRole("button", { name: "Download as SVG" }).click(),
  ]);
  return page.evaluateHandle(
    (svg) => new DOMParser().parseFromString(svg, "image/svg+xml").documentElement,
    await readFile(await download.path(), "utf8"),
  );
}

/** Returns true if a frame of the page shows that its navigation was blocked. */
function hasBlockedFrame(page: Page): boolean {
  return page.frames().some(isBlocked);
}

function isBlocked(frame: Frame): boolean {
  return frame.url().startsWith("chrome-error:");
}
