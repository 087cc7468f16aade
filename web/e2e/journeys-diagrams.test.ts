import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import type { FrameLocator, Locator } from "playwright-core";
import { type AppPage, eventually } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { focusedName, inspect, looks } from "./look.ts";
import { hold, say } from "./scripted-model.ts";

const fixture = await startFixture();

const fenced = (text: string) => `\`\`\`mermaid\n${text}\n\`\`\``;
/** A diagram of each kind, with a text that is in the drawing. */
const diagrams: readonly [kind: string, shown: string, source: string][] = [
  [
    "flow chart",
    "Intake",
    "flowchart LR\n  accTitle: Review of a case\n  A[Intake] --> B{Complete?}\n  B -->|yes| C[Review]\n  B -->|no| D[Ask the customer]\n  D --> A\n  subgraph Team\n    C --> E[(Archive)]\n  end",
  ],
  [
    "sequence",
    "Browser",
    "sequenceDiagram\n  participant B as Browser\n  participant S as Server\n  B->>S: Ask\n  Note over S: Calls a tool\n  loop Every token\n    S-->>B: Answer\n  end",
  ],
  [
    "classes",
    "Turn",
    "classDiagram\n  class Turn {\n    +String id\n    +run() Outcome\n  }\n  Turn <|-- LongTurn\n  Turn *-- Step",
  ],
  ["states", "Waiting", "stateDiagram-v2\n  [*] --> Waiting\n  Waiting --> Running\n  Running --> [*]"],
  [
    "entities",
    "CHAT",
    "erDiagram\n  CHAT ||--o{ MESSAGE : contains\n  MESSAGE {\n    string id\n    string text\n  }",
  ],
  [
    "plan",
    "Build",
    "gantt\n  title Plan\n  dateFormat YYYY-MM-DD\n  section First\n  Build :a1, 2026-01-01, 10d\n  Test :crit, after a1, 5d",
  ],
  ["pie", "Review", 'pie title Load\n  "Review" : 62\n  "Intake" : 30\n  "Rest" : 8'],
  [
    "git",
    "main",
    'gitGraph\n  commit id: "one"\n  branch next\n  commit id: "two"\n  checkout main\n  merge next',
  ],
  ["mind map", "Queue", "mindmap\n  root((Queue))\n    Arrivals\n      Mail\n    Service\n      Review"],
  ["timeline", "Launch", "timeline\n  title Year\n  January : Start\n  June : Launch : Support"],
  [
    "quadrants",
    "Mail",
    "quadrantChart\n  x-axis Low --> High\n  y-axis Slow --> Fast\n  quadrant-1 Do\n  Mail: [0.7, 0.8]",
  ],
  [
    "chart",
    "Wait",
    'xychart-beta\n  title "Wait"\n  x-axis [one, two, three]\n  y-axis "min" 0 --> 10\n  bar [3, 6, 9]\n  line [2, 5, 8]',
  ],
  [
    "journey",
    "Open",
    "journey\n  title A day\n  section Morning\n    Open mail: 3: Me, Team\n    Answer: 5: Me",
  ],
];
const wide = `flowchart LR\n${Array.from({ length: 30 }, (_, at) => `  n${at}[Step ${at}] --> n${at + 1}[Step ${at + 1}]`).join("\n")}`;

const show = (within: Locator) => within.getByRole("button", { name: "Show diagram" });
const blocks = ({ answers }: AppPage) => answers.last().locator("figure");
const frameOf = (block: Locator) => block.locator("iframe");
const drawn = ({ answers }: AppPage) => answers.last().locator("[data-diagram=drawn]");
const drawing = (block: Locator): FrameLocator => block.frameLocator("iframe").frameLocator("iframe");

for (const [name, look] of looks) {
  test(`diagrams are drawn in both themes, in both widths: ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    const kinds = diagrams.filter(([kind]) => ["flow chart", "sequence", "pie"].includes(kind));
    await account.fill(await account.newChat(), [
      "Draw it",
      kinds.map(([, , source]) => fenced(source)).join("\n\n"),
    ]);
    await appPage.open();
    for (const [at, [kind, shown]] of kinds.entries()) {
      // Other colours draw the earlier ones again, which moves what stands below them.
      await eventually(async () => assert.equal(await drawn(appPage).count(), at));
      const block = blocks(appPage).nth(at);
      await show(block).click();
      await drawing(block).locator("svg").getByText(shown).first().waitFor();
      await inspect(appPage, `diagram-${kind.replace(" ", "-")}`, look);
    }
  });
}

test("each kind of diagram is drawn", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 320, height: 640 } });
  await account.fill(await account.newChat(), [
    "Draw it",
    diagrams.map(([, , source]) => fenced(source)).join("\n\n"),
  ]);
  await appPage.open();
  for (const [at, [kind, shown]] of diagrams.entries()) {
    const block = blocks(appPage).nth(at);
    await show(block).click();
    await drawing(block).locator("svg").waitFor();
    assert.ok((await drawing(block).locator("svg").textContent())?.includes(shown), kind);
  }
});

test("a diagram takes the place of its code, is zoomed, saved and put away", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  const [, , source] = diagrams[0] ?? ["", "", ""];
  await account.fill(await account.newChat(), ["Draw it", `${fenced(source)}\n\n${fenced(wide)}`]);
  await appPage.open();
  const [block, wideBlock] = [blocks(appPage).first(), blocks(appPage).last()];
  await show(block).press("Enter");
  await drawing(block).getByText("Intake").waitFor();
  assert.equal(await focusedName(appPage), "Show code");
  assert.equal(await frameOf(block).getAttribute("title"), "Diagram: Review of a case");
  assert.equal(await block.locator("pre").isVisible(), false);
  const height = async (one: Locator) => (await frameOf(one).boundingBox())?.height ?? 0;
  const before = await height(block);
  await block.getByRole("button", { name: "Zoom in" }).click();
  await eventually(async () => assert.ok((await height(block)) > before * 1.1));
  for (const [label, file, start] of [
    ["Download as SVG", "diagram.svg", "<svg"],
    ["Download as PNG", "diagram.png", "\u0089PNG"],
  ] as const) {
    const [download] = await Promise.all([
      appPage.page.waitForEvent("download"),
      block.getByRole("button", { name: label }).click(),
    ]);
    assert.equal(download.suggestedFilename(), file);
    assert.ok((await readFile(await download.path(), "latin1")).startsWith(start));
  }
  await appPage.page.emulateMedia({ media: "print" });
  assert.ok(await frameOf(block).isVisible(), "a drawn diagram is printed");
  await appPage.page.emulateMedia({ media: "screen" });
  await block.getByRole("button", { name: "Show code" }).click();
  await block.locator("pre").getByText("Intake").waitFor();
  assert.equal(await frameOf(block).count(), 0);

  await show(wideBlock).click();
  const box = drawing(wideBlock).locator("#diagram");
  await drawing(wideBlock).getByText("Step 30").waitFor();
  assert.ok(await box.evaluate((one) => one.scrollWidth > one.clientWidth * 1.5), "a wide diagram scrolls");
  assert.ok(await box.evaluate((one) => one.scrollHeight <= one.clientHeight), "but not up and down");
});

test("an error is shown above the code, with the parser's message", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { viewport: { width: 1280, height: 800 } });
  const sources = [
    "flowchart LR\n  A --> [",
    "sankey-beta\n  a,b,10",
    `flowchart LR\n  A[${"a".repeat(50_000)}]`,
  ];
  await account.fill(await account.newChat(), ["Draw it", sources.map(fenced).join("\n\n")]);
  await appPage.open();
  const texts = ["because its code has an error", "isn't supported", "too large"];
  for (const [at, text] of texts.entries()) {
    const block = blocks(appPage).nth(at);
    await show(block).click();
    const alert = block.getByRole("alert");
    await alert.getByText(text).waitFor();
    assert.ok(await block.locator("pre").first().isVisible(), "the code stays");
    assert.ok(((await alert.boundingBox())?.y ?? 0) < ((await block.locator("code").boundingBox())?.y ?? 0));
    assert.equal(await frameOf(block).count(), 0);
    if (at > 0) continue;
    await alert.getByText("Details").click();
    await alert.getByText(/Parse error on line 2/u).waitFor();
    await inspect(appPage, "diagram-error", {
      viewport: { width: 1280, height: 800 },
      colorScheme: "light",
      hasTouch: false,
    });
  }
});

test("a diagram of the dark theme is printed in dark ink on light paper", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, { colorScheme: "dark" });
  await account.fill(await account.newChat(), ["Draw it", fenced("flowchart LR\n  A[Intake] --> B[Review]")]);
  await appPage.open();
  const block = blocks(appPage).first();
  await show(block).click();
  await drawing(block).getByText("Intake").waitFor();
  const [dark, light] = [await lightness(appPage, frameOf(block)), await printed()];
  assert.ok(dark.ground < 80, `${dark.ground} on the screen`);
  assert.ok(light.ground > 230, `${light.ground} on paper`);
  assert.ok(light.ink < 100, `${light.ink} in print`);

  async function printed() {
    await appPage.page.emulateMedia({ media: "print" });
    return lightness(appPage, frameOf(block));
  }
});

/** Returns how light the ground of a picture of an element is, and its darkest point, from 0 to 255. */
async function lightness({ page }: AppPage, element: Locator): Promise<{ ground: number; ink: number }> {
  const picture = (await element.screenshot()).toString("base64");
  return page.evaluate(async (base64) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext("2d");
    if (!context) throw new Error("no canvas");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const points = Array.from({ length: data.length / 4 }, (_, at) => data[at * 4 + 1] ?? 0);
    // The corner is free of the drawing, but for the frame's edge.
    return {
      ground: points[image.width * 4 + 4] ?? 0,
      ink: points.reduce((least, one) => Math.min(least, one), 255),
    };
  }, picture);
}

test("a diagram is code while it comes, and nothing is loaded for it until it is asked for", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  const loaded: string[] = [];
  appPage.page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/\/(?:diagram|sandbox)/u.test(pathname)) loaded.push(pathname);
  });
  await appPage.open();
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(
    say("```mermaid\nflowchart LR\n  A --> B\n"),
    hold(rest.promise),
    say("```\n\nThe end."),
  );
  await appPage.ask("Draw it");
  const block = blocks(appPage);
  await block.getByText("A --> B").waitFor();
  assert.equal(await show(block).count(), 0);
  const before = await block.boundingBox();
  rest.resolve();
  await show(block).waitFor();
  assert.deepEqual(await block.boundingBox(), before);
  assert.equal(loaded.length, 0);
  await show(block).click();
  await drawing(block).locator("svg").waitFor();
  assert.ok(loaded.some((path) => path.includes("diagram-renderer")));
});

test("without a network a diagram says so, and is drawn when it is asked for again", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t);
  await account.fill(await account.newChat(), ["Draw it", fenced("flowchart LR\n  A --> B")]);
  await appPage.page.route(/diagram-renderer/u, (route) => route.abort());
  await appPage.open();
  const block = blocks(appPage);
  await show(block).click();
  await block.getByRole("alert").getByText("couldn't be loaded").waitFor();
  await appPage.page.unroute(/diagram-renderer/u);
  await block.getByRole("button", { name: "Show code" }).click();
  await show(block).click();
  await drawing(block).locator("svg").waitFor();
});

test("a drawn diagram follows the theme and the width of the window", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 1280, height: 800 },
    colorScheme: "light",
  });
  await account.fill(await account.newChat(), ["Draw it", fenced(diagrams[1]?.[2] ?? "")]);
  await appPage.open();
  const block = blocks(appPage);
  await show(block).click();
  const ground = () =>
    drawing(block)
      .locator("html")
      .evaluate((one) => getComputedStyle(one).backgroundColor);
  await drawing(block).getByText("Browser").first().waitFor();
  const light = await ground();
  await appPage.page.emulateMedia({ colorScheme: "dark" });
  await eventually(async () => assert.notEqual(await ground(), light), 10_000);
  await drawing(block).getByText("Browser").first().waitFor();
  await appPage.page.setViewportSize({ width: 360, height: 700 });
  await eventually(async () => {
    const box = await frameOf(block).boundingBox();
    assert.ok(box && box.width <= 360 && box.x >= 0);
  });
});
