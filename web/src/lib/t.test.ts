import { expect, test } from "vitest";
import { readFileSync } from "node:fs";
import { t as account } from "./account-text";
import { t } from "./t";

const messages = JSON.parse(readFileSync("messages/en.json", "utf8")) as Record<string, string>;

test("fills in the parameters, each as often as it occurs", () => {
  expect(t("error.status", { status: 502 })).toBe("The server returned an error (502).");
});

test("leaves a slot without parameter visible", () => {
  expect(t("chat.prefill", {})).toBe("Use {tool} to ");
});

test("the texts about the account are apart, and just as complete", () => {
  expect(account("account.email.changedTo", { email: "a@b.c" })).toBe("You now sign in with a@b.c.");
});

test("no text is empty", () => {
  expect(Object.entries(messages).filter(([, text]) => text.trim() === "")).toEqual([]);
});
