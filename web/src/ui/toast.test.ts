import { beforeEach, expect, test } from "vitest";
import { dismissToast, readToasts, toast } from "./toast";

const titles = () => readToasts().map(({ title }) => title);

beforeEach(() => {
  for (const { id } of readToasts()) dismissToast(id);
});

test("the oldest of more than three makes room", () => {
  for (const title of ["one", "two", "three", "four"]) toast({ title });
  expect(titles()).toEqual(["two", "three", "four"]);
});

test("what is told again takes the place of what was told before, unless something can be done about each", () => {
  toast({ title: "Settings saved" });
  toast({ title: "Error", description: "no answer" });
  toast({ title: "Settings saved" });
  expect(titles()).toEqual(["Error", "Settings saved"]);
  toast({ title: "Error", description: "refused" });
  const action = { label: "Undo", run: () => undefined };
  for (const title of ["Chat deleted", "Chat deleted"]) toast({ title, action });
  expect(titles()).toEqual(["Error", "Chat deleted", "Chat deleted"]);
});
