import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { ModelSettingsForm } from "./model-settings-form";
import type { ModelSettings } from "./settings";

const field = (name: string) => page.getByRole("spinbutton", { name });
const save = page.getByRole("button", { name: "Save" });

test("saves what is filled in, and nothing for empty fields", async () => {
  const onSave = vi.fn<(settings: ModelSettings) => void>();
  await render(<ModelSettingsForm settings={{ topP: 0.5 }} busy={false} onSave={onSave} />);
  await page.getByRole("textbox", { name: "Instructions" }).fill("Be brief.");
  await field("Temperature").fill("0.25");
  await field("Top-p").clear();
  await page.getByRole("combobox", { name: "Reasoning effort" }).selectOptions("high");
  await save.click();
  expect(onSave.mock.calls).toEqual([[{ system: "Be brief.", temperature: 0.25, effort: "high" }]]);
});

test("values that apply otherwise are placeholders", async () => {
  await render(
    <ModelSettingsForm settings={{}} defaults={{ maxTokens: 400 }} busy={false} onSave={() => undefined} />,
  );
  await expect.element(field("Max output tokens")).toHaveAttribute("placeholder", "400");
  await expect.element(field("Temperature")).toHaveAttribute("placeholder", "Model default");
});

test("a value out of range is not saved", async () => {
  const onSave = vi.fn<(settings: ModelSettings) => void>();
  await render(<ModelSettingsForm settings={{}} busy={false} onSave={onSave} />);
  await field("Temperature").fill("3");
  await save.click();
  await expect.element(field("Temperature")).toBeInvalid();
  expect(onSave).not.toHaveBeenCalled();
});

test("Reset empties the form and saves that", async () => {
  const onSave = vi.fn<(settings: ModelSettings) => void>();
  await render(<ModelSettingsForm settings={{ temperature: 1 }} busy={false} onSave={onSave} />);
  await page.getByRole("button", { name: "Reset" }).click();
  await expect.element(field("Temperature")).toHaveValue(null);
  await expect.element(page.getByRole("button", { name: "Reset" })).toBeDisabled();
  expect(onSave.mock.calls).toEqual([[{}]]);
});
