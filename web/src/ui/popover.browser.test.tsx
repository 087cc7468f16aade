import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { Popover, useClosePopover } from "./popover";
import { Sheet } from "./sheet";

const popup = page.getByRole("dialog", { name: "Details" });
const trigger = page.getByRole("button", { name: "Open" });

function Content() {
  const close = useClosePopover();
  return (
    <button type="button" onClick={close}>
      Done
    </button>
  );
}

const popover = (
  <Popover trigger="Open" triggerClassName="" label="Details">
    <Content />
  </Popover>
);

test("opens at its trigger, takes the focus, and gives it back on Escape", async () => {
  await render(popover);
  await trigger.click();
  await expect.element(page.getByRole("button", { name: "Done" })).toHaveFocus();
  await expect.element(trigger).toHaveAttribute("aria-expanded", "true");
  await userEvent.keyboard("{Escape}");
  await expect.element(popup).not.toBeInTheDocument();
  await expect.element(trigger).toHaveFocus();
});

test("closes by its content, by a second click, and by a click elsewhere", async () => {
  await render(
    <>
      {popover}
      <p style={{ marginTop: 300 }}>elsewhere</p>
    </>,
  );
  for (const close of [page.getByRole("button", { name: "Done" }), trigger, page.getByText("elsewhere")]) {
    await trigger.click();
    await expect.element(popup).toBeVisible();
    await close.click();
    await expect.element(popup).not.toBeInTheDocument();
  }
});

test("Escape in a sheet closes the popover and leaves the sheet open", async () => {
  await render(
    <Sheet title="Sheet" onClose={() => undefined}>
      {popover}
    </Sheet>,
  );
  await trigger.click();
  await expect.element(popup).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await expect.element(popup).not.toBeInTheDocument();
  await expect.element(page.getByRole("dialog", { name: "Sheet" })).toBeVisible();
});
