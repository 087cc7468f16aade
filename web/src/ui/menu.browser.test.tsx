import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { accessibilityFaults } from "@/testing/axe";
import { ActionMenu } from "./menu";
import { Popover } from "./popover";

const item = (name: string) => page.getByRole("menuitem", { name });

async function renderMenu(align?: "bottom") {
  const onSelect = vi.fn<(name: string) => void>();
  const action = (label: string) => ({ icon: null, label, onSelect: () => onSelect(label) });
  await render(
    <div style={align === "bottom" ? { position: "fixed", right: 0, bottom: 0 } : {}}>
      <ActionMenu
        label="More"
        icon="…"
        groups={[[action("Rename"), action("Archive")], [action("Delete")]]}
      />
    </div>,
  );
  return onSelect;
}

test("arrow keys, Home, End and first letters move through the actions", async () => {
  await renderMenu();
  await userEvent.tab();
  await userEvent.keyboard("{ArrowDown}");
  await expect.element(item("Rename")).toHaveFocus();
  await userEvent.keyboard("{End}");
  await expect.element(item("Delete")).toHaveFocus();
  await userEvent.keyboard("{ArrowDown}");
  await expect.element(item("Rename")).toHaveFocus();
  await userEvent.keyboard("a");
  await expect.element(item("Archive")).toHaveFocus();
  await userEvent.keyboard("{Home}");
  await expect.element(item("Rename")).toHaveFocus();
});

test("Enter runs the action once and returns the focus to the button", async () => {
  const onSelect = await renderMenu();
  await page.getByRole("button", { name: "More" }).click();
  await userEvent.keyboard("{End}{Enter}");
  expect(onSelect.mock.calls).toEqual([["Delete"]]);
  await expect.element(page.getByRole("menu")).not.toBeInTheDocument();
  await expect.element(page.getByRole("button", { name: "More" })).toHaveFocus();
});

test("Escape closes without an action", async () => {
  const onSelect = await renderMenu();
  await page.getByRole("button", { name: "More" }).click();
  await expect.element(page.getByRole("menu", { name: "More" })).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await expect.element(page.getByRole("menu")).not.toBeInTheDocument();
  await expect.element(page.getByRole("button", { name: "More" })).toHaveFocus();
  expect(onSelect).not.toHaveBeenCalled();
});

test("within a popover, the focus returns to the menu's button and stays there", async () => {
  await render(
    <Popover trigger="Chats" triggerClassName="" label="Recent chats">
      <ActionMenu
        label="More"
        icon="…"
        groups={[[{ icon: null, label: "Pin", onSelect: () => undefined }]]}
      />
    </Popover>,
  );
  await page.getByRole("button", { name: "Chats" }).click();
  const button = page.getByRole("button", { name: "More" });
  for (const key of ["{Escape}", "{Enter}"]) {
    await button.click();
    await expect.element(page.getByRole("menu", { name: "More" })).toBeVisible();
    await userEvent.keyboard(`{Home}${key}`);
    await expect.element(page.getByRole("menu")).not.toBeInTheDocument();
    // The popover moves a lost focus to itself in the next frame.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await expect.element(button).toHaveFocus();
  }
});

test("Tab leads on from the button, and closes the menu", async () => {
  await render(
    <>
      <ActionMenu
        label="More"
        icon="…"
        groups={[[{ icon: null, label: "Pin", onSelect: () => undefined }]]}
      />
      <button type="button">Next</button>
    </>,
  );
  const [more, next] = ["More", "Next"].map((name) => page.getByRole("button", { name }));
  await more?.click();
  await userEvent.keyboard("{Home}");
  await expect.element(item("Pin")).toHaveFocus();
  await userEvent.tab();
  await expect.element(page.getByRole("menu")).not.toBeInTheDocument();
  expect(document.activeElement).toBe(next?.element());
  await userEvent.tab({ shift: true });
  expect(document.activeElement).toBe(more?.element());
});

test("has no accessibility faults while it is open, as a part of the page", async () => {
  await render(
    <main>
      <h1>Chats</h1>
      <ActionMenu
        label="More"
        icon={<svg />}
        groups={[
          [{ icon: null, label: "Pin", onSelect: () => undefined }],
          [{ icon: null, label: "Delete", onSelect: () => undefined }],
        ]}
      />
    </main>,
  );
  await page.getByRole("button", { name: "More" }).click();
  await expect.element(page.getByRole("menu")).toBeVisible();
  expect(await accessibilityFaults(document.documentElement)).toEqual([]);
});

test("stays in the window at its edge", async () => {
  await renderMenu("bottom");
  await page.getByRole("button", { name: "More" }).click();
  await expect.element(item("Delete")).toBeVisible();
  const { right, bottom, left, top } = page.getByRole("menu").element().getBoundingClientRect();
  expect(Math.min(left, top, innerWidth - right, innerHeight - bottom)).toBeGreaterThanOrEqual(0);
});
