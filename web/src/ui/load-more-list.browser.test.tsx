import { expect, test } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { LoadMoreList } from "./load-more-list";

test("shows a hundred items, then the next ones, and keeps the focus at the list's end", async () => {
  await render(
    <LoadMoreList items={Array.from({ length: 120 }, (_, index) => index)} label={(next) => `${next} more`}>
      {(shown) => (
        <ul>
          {shown.map((item) => (
            <li key={item}>{`item ${item}`}</li>
          ))}
        </ul>
      )}
    </LoadMoreList>,
  );
  expect(page.getByRole("listitem").elements()).toHaveLength(100);
  await page.getByRole("button", { name: "20 more" }).click();
  expect(page.getByRole("listitem").elements()).toHaveLength(120);
  expect(page.getByRole("button").elements()).toEqual([]);
  expect(document.activeElement?.textContent).toContain("item 119");
  expect(document.activeElement).not.toBe(document.body);
});
