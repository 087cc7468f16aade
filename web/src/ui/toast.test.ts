import { expect, test } from "vitest";
import { clearToasts, connectToasts, type Toast, toast, toastId } from "./toast";

/** Collects the titles of shown toasts. */
function collect() {
  const shown: string[] = [];
  const outlet = { show: ({ title }: Toast) => void shown.push(title), clear: () => void shown.splice(0) };
  return { shown, outlet };
}

test("shows toasts of the time before the outlet was loaded, and later ones at once", () => {
  toast({ title: "early" });
  const { shown, outlet } = collect();
  const disconnect = connectToasts(outlet);
  toast({ title: "later" });
  expect(shown).toEqual(["early", "later"]);
  disconnect();
});

test("clears toasts that are shown and those that wait", () => {
  const { shown, outlet } = collect();
  toast({ title: "of the user before" });
  clearToasts();
  const disconnect = connectToasts(outlet);
  expect(shown).toEqual([]);
  toast({ title: "shown" });
  clearToasts();
  expect(shown).toEqual([]);
  disconnect();
});

test("gives the same message one id, and those with an action none", () => {
  const action = { label: "Undo", run: () => undefined };
  expect(toastId({ title: "Error", description: "no answer" })).toBe(
    toastId({ title: "Error", description: "no answer" }),
  );
  expect(toastId({ title: "Error", description: "refused" })).not.toBe(toastId({ title: "Error" }));
  expect(toastId({ title: "Chat deleted", action })).toBeUndefined();
});
