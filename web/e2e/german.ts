import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import type { AppPage } from "./app-page.ts";
import { inspect, type Look } from "./look.ts";

const [english, german] = await Promise.all(["en", "de"].map(readTexts));

async function readTexts(name: string): Promise<Record<string, string>> {
  const file = new URL(`../messages/${name}.json`, import.meta.url);
  return JSON.parse(await readFile(file, "utf8")) as Record<string, string>;
}

/** Checks that a screen fits, and that none of its texts and names is an English one. */
export async function inspectGerman(appPage: AppPage, screen: string, look: Look): Promise<void> {
  const texts = await shownTexts(appPage.page);
  const left = texts.filter((text) => leftovers.some((pattern) => pattern.test(text)));
  assert.deepEqual(left, [], `English on ${screen}`);
  await inspect(appPage, `german-${screen}`, look);
}

/** The English texts that are not also German ones; their parameters stand for anything. */
const leftovers = Object.entries(english ?? {})
  .filter(([key, text]) => german?.[key] !== text && !Object.values(german ?? {}).includes(text))
  .filter(([, text]) => !/[<,]\s*(?:plural|[a-z]+>)/u.test(text))
  .map(
    ([, text]) =>
      new RegExp(
        `^${text
          .split(/\{[^}]*\}/u)
          .map(escaped)
          .join(".+")}$`,
        "u",
      ),
  )
  // A text that is little more than its parameters is like any other.
  .filter(({ source }) => /\p{L}{3}/u.test(source));

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/gu, String.raw`\$&`);
}

/** The texts that can be seen, and the names and hints of controls. */
function shownTexts(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const attributes = ["aria-label", "title", "placeholder", "alt"];
    const texts: string[] = [];
    for (const element of document.body.querySelectorAll("*")) {
      if (!element.checkVisibility()) continue;
      for (const attribute of attributes) texts.push(element.getAttribute(attribute) ?? "");
      for (const node of element.childNodes)
        if (node.nodeType === Node.TEXT_NODE) texts.push(node.nodeValue ?? "");
    }
    return texts.map((text) => text.trim()).filter((text) => text !== "");
  });
}
