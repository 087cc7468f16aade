import { AuthError } from "@supabase/auth-js";
import { useState } from "react";
import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { renderWithQueries } from "@/testing/render";
import { CodeField } from "./code-field";
import { ResendButton } from "./resend-button";

function Code() {
  const [code, setCode] = useState("");
  return <CodeField label="Code" value={code} onChange={setCode} />;
}

test("a code is taken in any grouping, and no more than its six digits", async () => {
  await renderWithQueries(<Code />);
  const field = page.getByRole("textbox", { name: "Code" });
  await field.fill("12-34 56 78");
  await expect.element(field).toHaveValue("123456");
  await field.fill("12ab");
  await expect.element(field).toHaveValue("12");
  await expect.element(field).toBeInvalid();
});

test("an email is requested again once a minute", async () => {
  const send = vi.fn<() => Promise<{ error: AuthError | null }>>(async () => ({ error: null }));
  await renderWithQueries(<ResendButton send={send} mailed={false} />);
  await page.getByRole("button", { name: "Send again" }).click();
  const waiting = page.getByRole("button", { name: /Send again in (?:60|59) s/u });
  await expect.element(waiting).toBeVisible();
  await waiting.click({ force: true });
  expect(send).toHaveBeenCalledOnce();
});

test("an email that was just sent has to be waited for", async () => {
  const send = vi.fn<() => Promise<{ error: AuthError | null }>>(async () => ({ error: null }));
  await renderWithQueries(<ResendButton send={send} mailed />);
  await page.getByRole("button", { name: /Send again in \d+ s/u }).click({ force: true });
  expect(send).not.toHaveBeenCalled();
});

test("a refused email can be requested again at once", async () => {
  const error = new AuthError("The mail server is away.", 500);
  const send = vi.fn<() => Promise<{ error: AuthError | null }>>(async () => ({ error }));
  await renderWithQueries(<ResendButton send={send} mailed={false} />);
  const button = page.getByRole("button", { name: "Send again" });
  await button.click();
  await vi.waitFor(() => expect(send).toHaveBeenCalledTimes(1));
  await button.click();
  await vi.waitFor(() => expect(send).toHaveBeenCalledTimes(2));
});
