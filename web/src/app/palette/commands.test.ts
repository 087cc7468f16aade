import { expect, test } from "vitest";
import { type Command, findCommands } from "./commands";

const command = (label: string, detail?: string) =>
  ({ id: label, label, ...(detail !== undefined && { detail }) }) as Command;

test("finds every word in label or detail, and lists better matches first", () => {
  const all = ["Enlist", "open list", "list_files", "Other"].map((label) => command(label));
  expect(findCommands(all, "LIST").map(({ label }) => label)).toEqual(["list_files", "open list", "Enlist"]);
  expect(findCommands([command("read", "notes"), command("read", "drive")], "dr read")).toHaveLength(1);
});

test("keeps the order without a text", () => {
  const all = [command("b"), command("a")];
  expect(findCommands(all, " ")).toEqual(all);
});
