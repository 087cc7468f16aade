import { expect, test } from "vitest";
import { render } from "vitest-browser-react";
import { dayName, DaySeparator, TimeOfDay } from "./time";

const now = new Date(2026, 10, 26, 12);

test.each([
  [new Date(2026, 10, 26, 0, 1), "Today"],
  [new Date(2026, 10, 25, 23, 59), "Yesterday"],
  [new Date(2026, 10, 24, 12), "Tuesday, November 24"],
  [new Date(2025, 10, 24, 12), "Monday, November 24, 2025"],
])("names the day of %s %s", (date, name) => {
  expect(dayName(date, now)).toBe(name);
});

test("separates messages of different days only", async () => {
  const [evening, night] = [new Date(2026, 0, 5, 23, 50), new Date(2026, 0, 6, 0, 10)].map((date) =>
    date.toISOString(),
  );
  const { container, rerender } = await render(<DaySeparator before={evening} moment={night} />);
  expect(container.textContent).toMatch(/^Tuesday, January 6/u);
  await rerender(<DaySeparator before={night} moment={night} />);
  expect(container.textContent).toBe("");
  await rerender(<DaySeparator before={undefined} moment={night} />);
  expect(container.textContent).toBe("");
});

test("names the day on which a chat began, unless it is today", async () => {
  const began = new Date(2024, 1, 29, 9, 5).toISOString();
  const { container, rerender } = await render(<DaySeparator before={null} moment={began} />);
  expect(container.textContent).toMatch(/^Thursday, February 29, 2024/u);
  await rerender(<DaySeparator before={null} moment={new Date().toISOString()} />);
  expect(container.textContent).toBe("");
});

test("tells the full date of an old message", async () => {
  const { container } = await render(<TimeOfDay moment={new Date(2024, 1, 29, 9, 5).toISOString()} />);
  const time = container.querySelector("time");
  expect(time?.title).toMatch(/^Thursday, February 29, 2024/u);
  expect(time?.querySelector(":scope > :not([aria-hidden])")?.textContent).toBe(time?.title);
});
