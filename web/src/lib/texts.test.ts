import { createElement, type ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, expect, test, vi } from "vitest";
import { formatDuration } from "./format";
import { formatDate, formatList, formatNumber, formatRelativeDay } from "./intl";
import { t as later, tRich } from "./later-texts";
import { t } from "./t";
import { changeLanguage } from "./texts";

async function switchTo(language: "en" | "de", ...preferred: string[]): Promise<void> {
  vi.stubGlobal("document", { documentElement: {} });
  vi.stubGlobal("navigator", { languages: preferred });
  await changeLanguage(language);
}

afterEach(async () => {
  await switchTo("en");
  vi.unstubAllGlobals();
});

test("fills in the parameters", () => {
  expect(t("error.status", { status: "502" })).toBe("The server returned an error (502).");
  expect(later("account.email.changedTo", { email: "a@b.c" })).toBe("You now sign in with a@b.c.");
});

test("parameters are shown as they are, whatever they look like", () => {
  const name = "{name} <strong>'{n}'</strong> # \\u202e";
  expect(later("servers.remove", { name })).toBe(`Remove ${name}`);
});

test("counts have the plural forms of their language", async () => {
  const counts = [0, 1, 2, 1_234];
  expect(counts.map((n) => later("queue.count", { n }))).toEqual([
    "0 queued messages",
    "1 queued message",
    "2 queued messages",
    "1,234 queued messages",
  ]);
  await switchTo("de");
  expect(counts.map((n) => later("queue.count", { n }))).toEqual([
    "0 eingereihte Nachrichten",
    "1 eingereihte Nachricht",
    "2 eingereihte Nachrichten",
    "1.234 eingereihte Nachrichten",
  ]);
});

test("two counts in a sentence have a form each", () => {
  expect(later("chat.empty.ready", { tools: 1, servers: 1 })).toBe("1 tool from 1 server is ready.");
  expect(later("chat.empty.ready", { tools: 5, servers: 1 })).toBe("5 tools from 1 server are ready.");
  expect(later("chat.empty.ready", { tools: 5, servers: 2 })).toBe("5 tools from 2 servers are ready.");
});

test("numbers, dates and lists are written as in the page's language", async () => {
  const day = new Date(2026, 10, 3);
  await switchTo("de", "en-US", "de-AT");
  expect(formatNumber(1_234.5)).toBe("1\u00a0234,5");
  await switchTo("de", "en-US");
  expect(formatNumber(1_234.5)).toBe("1.234,5");
  expect(formatDate(day, { dateStyle: "medium" })).toBe("03.11.2026");
  expect(formatDuration(1_500)).toBe("1,5 s");
  expect(formatRelativeDay(-1)).toBe("gestern");
  expect(formatList(["a", "b", "c"])).toBe("a, b und c");
  await switchTo("en", "de-DE", "en-GB");
  expect(formatDate(day, { dateStyle: "medium" })).toBe("3 Nov 2026");
});

test("elements stand within a sentence", () => {
  const strong = (words: ReactNode) => createElement("strong", null, words);
  const sentence = tRich("account.server.leads", { host: "<a>.example", strong });
  expect(renderToStaticMarkup(sentence)).toBe(
    "To sign in, you&#x27;ll be redirected to <strong>&lt;a&gt;.example</strong>.",
  );
});
