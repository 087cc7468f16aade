import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { Field, Input, Textarea } from "./field";

test("label, hint and error belong to the control", async () => {
  await render(
    <Field label="Name" hint="As on your passport" error="This field is required.">
      {(ids) => <Input {...ids} />}
    </Field>,
  );
  const input = page.getByRole("textbox", { name: "Name" });
  await expect.element(input).toHaveAccessibleDescription("As on your passport This field is required.");
  await expect.element(input).toBeInvalid();
  await page.getByText("Name", { exact: true }).click();
  await expect.element(input).toHaveFocus();
});

test("a text area grows and shrinks with its text", async () => {
  await render(<Textarea aria-label="Text" className="min-h-10" />);
  const field = page.getByRole("textbox", { name: "Text" });
  const height = () => field.element().getBoundingClientRect().height;
  const empty = height();
  await field.fill("one\ntwo\nthree\nfour");
  expect(height()).toBeGreaterThan(empty * 1.5);
  await userEvent.clear(field);
  expect(height()).toBe(empty);
});
