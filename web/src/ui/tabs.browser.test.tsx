import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { panelProps, TabList } from "./tabs";

const names = ["one", "two", "three"] as const;

function Tabs() {
  const [selected, setSelected] = useState<(typeof names)[number]>("one");
  return (
    <>
      <TabList
        id="demo"
        label="Demo"
        items={names.map((value) => ({ value, label: value }))}
        selected={selected}
        onSelect={setSelected}
      />
      <div {...panelProps("demo", selected)}>content of {selected}</div>
    </>
  );
}

test("arrow keys, Home and End select tabs and wrap around", async () => {
  await render(<Tabs />);
  await userEvent.tab();
  await expect.element(page.getByRole("tab", { name: "one" })).toHaveFocus();
  for (const [key, name] of [
    ["ArrowRight", "two"],
    ["End", "three"],
    ["ArrowRight", "one"],
    ["ArrowLeft", "three"],
    ["Home", "one"],
  ] as const) {
    await userEvent.keyboard(`{${key}}`);
    await expect.element(page.getByRole("tab", { name })).toHaveFocus();
    await expect.element(page.getByRole("tabpanel", { name })).toHaveTextContent(`content of ${name}`);
  }
});

test("only the selected tab is in the tab order", async () => {
  await render(<Tabs />);
  await page.getByRole("tab", { name: "two" }).click();
  const stops = page
    .getByRole("tab")
    .elements()
    .filter((tab) => (tab as HTMLElement).tabIndex === 0);
  expect(stops.map((tab) => tab.textContent)).toEqual(["two"]);
});
