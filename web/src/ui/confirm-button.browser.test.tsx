import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { ConfirmButton } from "./confirm-button";

test("acts only after the question is confirmed", async () => {
  const onConfirm = vi.fn<() => void>();
  await render(
    <ConfirmButton
      trigger="Delete"
      question="Delete this chat?"
      confirm="Delete chat"
      onConfirm={onConfirm}
    />,
  );
  const question = page.getByRole("dialog", { name: "Delete this chat?" });
  await page.getByRole("button", { name: "Delete" }).click();
  await expect.element(question).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await expect.element(question).not.toBeInTheDocument();
  expect(onConfirm).not.toHaveBeenCalled();

  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("button", { name: "Delete chat" }).click();
  await expect.element(question).not.toBeInTheDocument();
  expect(onConfirm).toHaveBeenCalledOnce();
});
