import { expect, test } from "vitest";
import messages from "../../messages/en.json";
import { t } from "./t";

test("fills in the parameters, each as often as it occurs", () => {
  expect(t("servers.connected.text", { name: "notes", n: 14 })).toBe("Connected to notes with 14 tools");
});

test("leaves a slot without parameter visible", () => {
  expect(t("tools.prefill", {})).toBe("Use {tool} to ");
});

test("no text is empty", () => {
  expect(Object.entries(messages).filter(([, text]) => text.trim() === "")).toEqual([]);
});
