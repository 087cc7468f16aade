import { useState } from "react";
import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { Checkbox, TextField } from "./field";
import { Form, SubmitButton } from "./form";

interface ExampleProps {
  busy?: boolean;
  onSend: () => void;
}

function Example({ busy = false, onSend }: ExampleProps) {
  const [name, setName] = useState("");
  return (
    <Form busy={busy} onSend={onSend} aria-label="Example">
      <TextField label="Name" required value={name} onChange={setName} />
      <SubmitButton>Save</SubmitButton>
    </Form>
  );
}

test("sends what the browser finds valid", async () => {
  const onSend = vi.fn<() => void>();
  await render(<Example onSend={onSend} />);
  await page.getByRole("button", { name: "Save" }).click();
  expect(onSend).not.toHaveBeenCalled();
  await page.getByRole("textbox", { name: "Name" }).fill("Ada");
  await page.getByRole("button", { name: "Save" }).click();
  expect(onSend).toHaveBeenCalledOnce();
});

test("sends nothing while it is busy", async () => {
  const onSend = vi.fn<() => void>();
  await render(<Example busy onSend={onSend} />);
  await page.getByRole("textbox", { name: "Name" }).fill("Ada");
  (page.getByRole("form").element() as HTMLFormElement).requestSubmit();
  expect(onSend).not.toHaveBeenCalled();
});

test("a checkbox is changed by its label", async () => {
  const onChange = vi.fn<(checked: boolean) => void>();
  await render(<Checkbox label="Include files" checked={false} onChange={onChange} />);
  await page.getByText("Include files").click();
  expect(onChange).toHaveBeenCalledWith(true);
});
