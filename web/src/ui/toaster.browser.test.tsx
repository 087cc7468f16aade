import { flushSync } from "react-dom";
import { afterEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { Sheet } from "./sheet";
import { clearToasts, toast } from "./toast";
import { Toaster } from "./toaster";

afterEach(() => clearToasts());

const toasts = page.getByRole("region", { name: "Status messages" });

test("shows toasts from before it was rendered", async () => {
  toast({ title: "Early" });
  await render(<Toaster />);
  await expect.element(toasts.getByText("Early")).toBeVisible();
});

test("shows the same message once, and at most three", async () => {
  await render(<Toaster />);
  for (const title of ["One", "Two", "Two", "Three", "Four"]) toast({ title });
  await expect.element(toasts.getByText("Four")).toBeVisible();
  await expect.element(toasts.getByText("One")).not.toBeVisible();
  expect(toasts.getByText("Two").elements()).toHaveLength(1);
});

test("closes by its button", async () => {
  await render(<Toaster />);
  toast({ title: "Saved" });
  await toasts.getByRole("button", { name: "Close" }).click();
  await expect.element(toasts.getByText("Saved")).not.toBeInTheDocument();
});

test("removes all toasts at once, those that still appear included", async () => {
  await render(<Toaster />);
  toast({ title: "Early" });
  toast({ title: "Saved" });
  await expect.element(toasts.getByText("Saved")).toBeInTheDocument();
  flushSync(clearToasts);
  expect(toasts.getByRole("dialog").elements()).toHaveLength(0);
});

test("shows what comes right after all toasts were removed", async () => {
  await render(<Toaster />);
  toast({ title: "Saved" });
  await expect.element(toasts.getByText("Saved")).toBeInTheDocument();
  clearToasts();
  toast({ title: "Next" });
  await expect.element(toasts.getByText("Next")).toBeVisible();
  expect(toasts.getByText("Saved").elements()).toHaveLength(0);
});

test("runs its action once and goes away", async () => {
  const run = vi.fn<() => void>();
  await render(<Toaster />);
  toast({ title: "Deleted", action: { label: "Undo", run } });
  await toasts.getByRole("button", { name: "Undo" }).click();
  expect(run).toHaveBeenCalledOnce();
  await expect.element(toasts.getByText("Deleted")).not.toBeInTheDocument();
});

test("can be used over an open sheet", async () => {
  await render(
    <>
      <Toaster />
      <Sheet title="Sheet" onClose={() => undefined}>
        words
      </Sheet>
    </>,
  );
  toast({ title: "Saved" });
  await toasts.getByRole("button", { name: "Close" }).click();
  await expect.element(page.getByRole("dialog", { name: "Sheet" })).toBeVisible();
  await expect.element(toasts.getByText("Saved")).not.toBeInTheDocument();
});

test("covers neither the header nor the control in use", async () => {
  await render(
    <>
      <header style={{ position: "fixed", inset: "0 0 auto", height: 60 }}>header</header>
      <button type="button" style={{ position: "fixed", top: 70, right: 10 }}>
        In use
      </button>
      <Toaster />
    </>,
  );
  await page.getByRole("button", { name: "In use" }).click();
  toast({ title: "Saved" });
  await expect.element(toasts.getByText("Saved")).toBeVisible();
  const { top } = toasts.element().getBoundingClientRect();
  const { bottom } = page.getByRole("button", { name: "In use" }).element().getBoundingClientRect();
  expect(top).toBeGreaterThanOrEqual(bottom);
});
