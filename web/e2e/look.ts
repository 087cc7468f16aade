import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults, RunOptions } from "axe-core";
import { gluedLabels } from "./labels.ts";
import type { AppPage } from "./app-page.ts";

const axeSource = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
/** A folder for pictures of every screen; none are taken without it. */
const pictures = process.env["SCREENSHOTS"];

const phone = { width: 320, height: 640 };
export const desk = { width: 1280, height: 800 };
/** The smallest side of what a finger can hit, in pixels. */
const finger = 44;
/** Minimum distance of floating elements from the window's edges, in pixels. */
const margin = 8;

/** A browser window. Every screen is inspected in light colours, and in dark ones for what can depend on them. */
export interface Look {
  viewport: { width: number; height: number };
  colorScheme: "light";
  hasTouch: boolean;
}

/** The windows in which every screen is inspected, by the name for the report. */
export const looks: readonly [name: string, look: Look][] = [phone, desk].map((viewport) => [
  `${viewport.width} px`,
  { viewport, colorScheme: "light", hasTouch: viewport === phone },
]);

/** Checks that a screen can be read, reached and hit, in light and in dark colours. Takes its pictures, too. */
export async function inspect(appPage: AppPage, screen: string, look: Look): Promise<void> {
  // Nothing moves from here on, so that colours change at once.
  await appPage.page.emulateMedia({ reducedMotion: "reduce" });
  await settled(appPage);
  await takePicture(appPage, `${screen}-${look.viewport.width}-light`);
  assert.deepEqual(await faults(appPage), [], screen);
  assert.deepEqual(await gluedLabels(appPage.page), [], `${screen}: words of a name run together`);
  assert.deepEqual(await overflows(appPage), [], `${screen} scrolls where it must not`);
  assert.deepEqual(await atTheEdge(appPage), [], `${screen}: what floats keeps off the edges`);
  assert.deepEqual(await covered(appPage), [], `${screen}: a toast stands over what is being used`);
  if (look.hasTouch) assert.deepEqual(await tooSmall(appPage), [], `${screen}: hard to hit`);
  await inspectDark(appPage, screen, look);
}

/**
 * Checks accessibility in dark colours. The page only changes its colours for it; a second visit would take as long as
 * the first, and find the same sizes and positions.
 */
async function inspectDark(appPage: AppPage, screen: string, look: Look): Promise<void> {
  await changeScheme(appPage, "dark");
  await takePicture(appPage, `${screen}-${look.viewport.width}-dark`);
  assert.deepEqual(await faults(appPage), [], `${screen}, dark`);
  await changeScheme(appPage, "light");
}

/** Changes the colours, which follow some frames later. */
async function changeScheme(appPage: AppPage, colorScheme: "light" | "dark"): Promise<void> {
  await appPage.page.emulateMedia({ colorScheme });
  await appPage.page.waitForFunction(
    (scheme) => matchMedia(`(prefers-color-scheme: ${scheme})`).matches,
    colorScheme,
  );
  await settled(appPage);
}

/** Waits for a toast and points at it, so that it stays until it is closed. */
export async function holdToast({ toasts }: AppPage): Promise<void> {
  await toasts.first().hover();
}

/** Puts the toasts away, which would hide what is to be looked at. */
export async function closeToasts({ page, toasts }: AppPage): Promise<void> {
  await toasts.first().waitFor();
  // All in one go: a toast also goes by itself, between one look and the next.
  while ((await toasts.count()) > 0) {
    await page.evaluate(() => {
      for (const toast of document.querySelectorAll("[data-toasts] > [role=dialog]")) {
        toast.querySelector<HTMLElement>("button[aria-label=Close]")?.click();
      }
    });
  }
}

/** Milliseconds after which an animation that does not end is left alone. Those of hidden content never do. */
const longestAnimation = 2_000;

/** Waits until the animations that have an end are over. */
async function settled({ page }: AppPage): Promise<void> {
  await page.evaluate(async (limit) => {
    const ending = document
      .getAnimations()
      .filter((one) => one.effect?.getComputedTiming().iterations !== Infinity);
    const over = Promise.allSettled(ending.map((one) => one.finished));
    await Promise.race([over, new Promise((resolve) => setTimeout(resolve, limit))]);
  }, longestAnimation);
}

async function takePicture({ page }: AppPage, name: string): Promise<void> {
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** Returns what breaks a rule of accessibility. */
async function faults({ page }: AppPage): Promise<string[]> {
  // It stays in the page; each load takes 0.1 s.
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  const results = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: { run: (options: RunOptions) => Promise<AxeResults> } };
    return axe.run({ resultTypes: ["violations"] });
  });
  return results.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html}`));
}

/** Returns the elements that make the page, or a panel, wider than its container. */
function overflows({ page }: AppPage): Promise<string[]> {
  return page.evaluate(() => {
    const panels = [
      document.documentElement,
      ...document.querySelectorAll("main, [role=tabpanel], [aria-label=Conversation], dialog[open]"),
    ];
    const wide = panels
      .filter((panel) => panel.scrollWidth > panel.clientWidth)
      .map((panel) => `${panel.tagName} ${panel.scrollWidth} > ${panel.clientWidth}`);
    // What scrolls in a dialog is its middle; head and foot stay where they are.
    const moved = [...document.querySelectorAll("dialog[open]")].filter((dialog) => dialog.scrollTop > 0);
    return [...wide, ...moved.map((dialog) => `${dialog.tagName} is scrolled by ${dialog.scrollTop}`)];
  });
}

/** Returns the floating elements that are too close to an edge of the window. */
function atTheEdge({ page }: AppPage): Promise<string[]> {
  return page.evaluate((least) => {
    const floating = [
      ...document.querySelectorAll(
        "[data-open]:is([role=dialog], [role=menu], [role=listbox]), [data-toasts] > [role=dialog]",
      ),
    ];
    return floating
      .map((one) => ({
        name: one.ariaLabel,
        left: one.getBoundingClientRect().left,
        right: innerWidth - one.getBoundingClientRect().right,
      }))
      .filter(({ left, right }) => Math.min(left, right) < least)
      .map(({ name, left, right }) => `${name}: ${left} left, ${right} right`);
  }, margin);
}

/** Returns elements in use that a toast covers: open ones, focused fields, and the buttons in a dialog's footer. */
function covered({ page }: AppPage): Promise<string[]> {
  return page.evaluate(() => {
    const controls = "button, a, input, textarea, select, summary";
    // On a phone an open menu leaves no room beside it.
    const open = innerWidth < 640 ? "" : "[data-open]:is([role=dialog], [role=menu]), ";
    const composer = "body:not(:has(dialog[open])) div:has(> textarea[aria-label=Message])";
    const used = [
      ...document.querySelectorAll(
        `${open}dialog[open] footer, header, [data-head], :is(${controls}):focus, ${composer}`,
      ),
    ];
    const toasts = [...document.querySelectorAll("[data-toasts] > [role=dialog]")];
    return (
      used
        .filter((one) => one.closest("[data-toasts]") === null)
        // What lies under an open dialog cannot be used.
        .filter((one) => !document.querySelector("dialog[open]") || one.closest("dialog[open]"))
        .filter((one) => one.checkVisibility())
        .filter((one) => {
          const { left, right, top, bottom } = one.getBoundingClientRect();
          return toasts
            .map((toast) => toast.getBoundingClientRect())
            .some((over) => over.left < right && left < over.right && over.top < bottom && top < over.bottom);
        })
        .map((one) => one.ariaLabel ?? one.tagName)
    );
  });
}

/** Returns the controls that a finger would miss, apart from links inside a sentence. */
function tooSmall({ page }: AppPage): Promise<string[]> {
  return page.evaluate((least) => {
    const controls = [
      ...document.querySelectorAll<HTMLElement>(
        "button, a[href], input:not([aria-hidden=true]), select, textarea, summary, [role=tab], [role=menuitem], [role=option], [role=gridcell]",
      ),
    ];
    /** Returns true for a link whose line also has other text (WCAG 2.5.8: "Inline"). */
    const isInline = (control: HTMLElement) =>
      control.tagName === "A" &&
      getComputedStyle(control).display === "inline" &&
      control.parentElement?.textContent.trim() !== control.textContent.trim();
    return (
      controls
        .filter((control) => control.checkVisibility({ visibilityProperty: true }))
        // What is there for screen readers alone is pressed by them.
        .filter((control) => !control.closest(".sr-only") && !isInline(control))
        // A press on the label of a checkbox or a radio button is one on it.
        .map((control) => ({
          control,
          box: (control.closest("label") ?? control).getBoundingClientRect(),
        }))
        .filter(
          ({ control, box }) =>
            box.width < least - 0.5 || (control.tagName !== "TEXTAREA" && box.height < least - 0.5),
        )
        .map(
          ({ control, box }) =>
            `${control.getAttribute("aria-label") ?? control.textContent}: ${box.width} × ${box.height}`,
        )
    );
  }, finger);
}

/** Presses the key until the focus is on an element whose name begins with this text, and checks that it is visible. */
export async function reach(appPage: AppPage, name: string, key = "Tab"): Promise<void> {
  for (let presses = 0; presses < 60; presses++) {
    if ((await focusedName(appPage)).startsWith(name)) {
      const seen = await appPage.page.evaluate(() => {
        const { activeElement: at } = document;
        // The message field lends its ring to the box around it.
        return at !== null && (getComputedStyle(at).outlineStyle !== "none" || at.tagName === "TEXTAREA");
      });
      assert.ok(seen, `the focus on ${name} can be seen`);
      return;
    }
    await appPage.page.keyboard.press(key);
  }
  assert.fail(`${name} cannot be reached with ${key}`);
}

export function focusedName({ page }: AppPage): Promise<string> {
  return page.evaluate(() => {
    const at = document.activeElement;
    const label = at?.getAttribute("aria-label");
    if (!at || typeof label === "string") return (label ?? "").trim();
    const spoken = at.cloneNode(true) as Element;
    for (const part of spoken.querySelectorAll("[aria-hidden=true]")) part.remove();
    return spoken.textContent.trim();
  });
}
