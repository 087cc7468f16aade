import { useState } from "react";
import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { initialDraft } from "./draft";
import { formOf } from "./field-model";
import { type FieldErrors, readValue } from "./read-value";
import { SchemaForm } from "./schema-form";

const form = formOf({
  type: "object",
  required: ["title"],
  properties: {
    title: { type: "string", maxLength: 5 },
    count: { type: "integer", description: "How often" },
    kind: { enum: ["a", "b"] },
    done: { type: "boolean", default: false },
    tags: { type: "array", items: { type: "string" } },
  },
});

/** Form with a button that sends it; what it would send is shown. */
function Filled() {
  const [draft, setDraft] = useState(() => initialDraft(form));
  const [errors, setErrors] = useState<FieldErrors>(new Map());
  const [sent, setSent] = useState("");
  return (
    <>
      <SchemaForm form={form} draft={draft} errors={errors} onChange={setDraft} />
      <button
        type="button"
        onClick={() => {
          const reading = readValue(form, draft);
          setErrors(reading.errors);
          if (reading.errors.size === 0) setSent(JSON.stringify(reading.value));
        }}
      >
        Send
      </button>
      <output>{sent}</output>
    </>
  );
}

const send = page.getByRole("button", { name: "Send" });

test("every kind of field ends in its value", async () => {
  await render(<Filled />);
  await page.getByRole("textbox", { name: "title required" }).fill("Tea");
  await page.getByRole("textbox", { name: "count" }).fill("3");
  await page.getByRole("combobox", { name: "kind" }).selectOptions("b");
  await page.getByRole("checkbox", { name: "done" }).click();
  await page.getByRole("button", { name: "Add item" }).click();
  await page.getByRole("button", { name: "Add item" }).click();
  await page.getByRole("textbox", { name: "Item 2" }).fill("hot");
  await page.getByRole("button", { name: "Remove item 1" }).click();
  await send.click();
  await expect
    .element(page.getByRole("status"))
    .toHaveTextContent('{"title":"Tea","count":3,"kind":"b","done":true,"tags":["hot"]}');
});

test("errors appear at their fields, and the first one takes the focus", async () => {
  await render(<Filled />);
  await page.getByRole("textbox", { name: "count" }).fill("2.5");
  await send.click();
  const title = page.getByRole("textbox", { name: "title required" });
  await expect.element(title).toHaveFocus();
  await expect.element(title).toHaveAccessibleDescription("This field is required.");
  await expect
    .element(page.getByRole("textbox", { name: "count" }))
    .toHaveAccessibleDescription("How often Enter a whole number.");
  await userEvent.keyboard("Coffee");
  await send.click();
  await expect.element(title).toHaveAccessibleDescription("Enter at most 5 characters.");
});
