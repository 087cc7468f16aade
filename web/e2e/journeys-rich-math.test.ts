import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect, looks } from "./look.ts";
import { hold, say } from "./scripted-model.ts";
import { startFixture } from "./fixture.ts";
import { eventually, type AppPage } from "./app-page.ts";

const fixture = await startFixture();

const answer = String.raw`It costs $5 and $6. For a queue with one reviewer, $\lambda < \mu$ holds, so

$$
W_q = \frac{\lambda}{\mu(\mu - \lambda)} = \frac{4.2}{4.5 \times 0.3} \approx 3.1\ \text{min}
$$

and \(L = \lambda W\), as well as

> \[
> \begin{pmatrix} a & b \\ c & d \end{pmatrix}
> \]

- a sum \[\sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6} = 1 + \frac{1}{4} + \frac{1}{9} + \frac{1}{16} + \frac{1}{25} + \frac{1}{36} + \frac{1}{49} + \cdots\]
- an error $\frac{a$

| Step | Wait | Load of the queue with its reviewer |
| --- | ---: | :-: |
| Review | $3.1$ min | 93 % |
| Intake | 0.4 min | 70 % |

The end.`;

const formulas = ({ answers }: AppPage) => answers.last().locator(".katex");

for (const [name, look] of looks) {
  test(`formulas are drawn in both themes, in both widths: ${name}`, async (t) => {
    const { account, appPage } = await fixture.openSignedInPage(t, look);
    await account.fill(await account.newChat(), ["How long?", answer]);
    await appPage.open();
    await eventually(async () => assert.equal(await formulas(appPage).count(), 6));
    for (const part of [/^It costs/u, "The end."]) {
      await appPage.page.getByText(part).scrollIntoViewIfNeeded();
      await inspect(appPage, `rich-math-${part === "The end." ? "end" : "start"}`, look);
    }
  });
}

test("formulas are loaded by the first one, drawn once closed, and copied as they were written", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t);
  await appPage.page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  const loaded: string[] = [];
  appPage.page.on("request", (request) => {
    const { origin, pathname } = new URL(request.url());
    assert.equal(origin, fixture.app.url);
    if (/rich-math|KaTeX/u.test(pathname)) loaded.push(pathname);
  });
  await appPage.open();
  fixture.model.answer(say("It costs $5 and $6, or `$x$`, and ends."));
  await appPage.ask("Without formulas");
  await appPage.answered();
  assert.equal(loaded.length, 0);
  const rest = Promise.withResolvers<void>();
  fixture.model.answer(
    say(String.raw`So $\lambda < \mu$ holds. And $x`),
    hold(rest.promise),
    say("^2$ too."),
  );
  await appPage.ask("With formulas");
  await eventually(async () => assert.equal(await formulas(appPage).count(), 1), 10_000);
  assert.ok(loaded.some((path) => path.endsWith(".woff2")));
  assert.ok(loaded.every((path) => /\.(?:js|woff2)$/u.test(path)));
  rest.resolve();
  await eventually(async () => assert.equal(await formulas(appPage).count(), 2), 10_000);
  assert.equal(await formulas(appPage).first().locator("math").count(), 1, "screen readers get MathML");
  const [plain, paragraph] = [appPage.answers.first().locator("p"), appPage.answers.last().locator("p")];
  const height = (one: typeof plain) => one.evaluate((line) => line.getBoundingClientRect().height);
  assert.equal(await height(paragraph), await height(plain), "a formula does not change its line");
  await paragraph.selectText();
  await appPage.page.keyboard.press("ControlOrMeta+C");
  const copied = await appPage.page.evaluate(() => navigator.clipboard.readText());
  assert.equal(copied.trim(), String.raw`So $\lambda < \mu$ holds. And $x^2$ too.`);

  fixture.model.answer(say("- **First** is $a$.\n- Second is $b$."));
  await appPage.ask("As a list");
  const list = appPage.answers.last().getByRole("list");
  await eventually(async () => assert.equal(await list.locator("[data-tex]").count(), 2));
  await list.selectText();
  await appPage.page.keyboard.press("ControlOrMeta+C");
  const html = await appPage.page.evaluate(async () => {
    const [item] = await navigator.clipboard.read();
    return (await item?.getType("text/html"))?.text();
  });
  assert.match(
    html ?? "",
    /<li[^>]*>.*<strong[^>]*>First<\/strong> is .*\$a\$/su,
    "lists and emphasis are kept",
  );
});

test("formulas and tables are printed whole, in dark ink and without controls", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, {
    viewport: { width: 320, height: 640 },
    colorScheme: "dark",
  });
  await account.fill(await account.newChat(), ["How long?", answer]);
  await appPage.open();
  await eventually(async () => assert.equal(await formulas(appPage).count(), 6));
  const table = appPage.answers.last().locator("figure");
  const copy = table.getByRole("button", { name: "Copy as CSV" });
  await copy.waitFor({ state: "attached" });
  const clipped = () =>
    appPage.answers
      .last()
      .locator(".formula-display, .table-scroll")
      .evaluateAll((boxes) => boxes.filter((box) => getComputedStyle(box).overflowX !== "visible").length);
  const luminance = () =>
    formulas(appPage)
      .first()
      .evaluate((one) => {
        const context = document.createElement("canvas").getContext("2d");
        if (!context) throw new Error("no canvas");
        context.fillStyle = getComputedStyle(one).color;
        context.fillRect(0, 0, 1, 1);
        return context.getImageData(0, 0, 1, 1).data[1] ?? 0;
      });
  assert.ok((await clipped()) > 0);
  assert.ok((await luminance()) > 150, "light ink on the dark screen");
  await appPage.page.emulateMedia({ media: "print" });
  assert.equal(await clipped(), 0);
  assert.ok((await luminance()) < 100, "dark ink on paper");
  assert.equal(await copy.isVisible(), false);
  assert.equal(await table.getByRole("button", { name: "Download as CSV" }).isVisible(), false);
  await table.getByText("Intake").waitFor();
});
