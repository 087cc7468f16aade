import { expect, test } from "vitest";
import { page, userEvent } from "vitest/browser";
import { ApiError } from "@/lib/api-error";
import { answerRequests, pathsOf, renderWithQueries } from "@/testing/render";
import { ProofHost } from "./proof-dialog";
import { withApiProof } from "./step-up";

const user = { id: "u1", email: "ada@example.com", name: "" };
const dialog = page.getByRole("dialog", { name: "Confirm your identity" });

/** Answers as a server at which only this password proves anything. */
const serve = (password: string) =>
  answerRequests(async (request) => {
    if (request.method === "GET") return Response.json({ methods: ["password", "email"], hasPassword: true });
    const given = (await request.json()) as { password: string };
    if (given.password === password) return new Response(null, { status: 204 });
    const error = { code: "current_password_invalid", message: "no" };
    return Response.json({ error }, { status: 403 });
  });

/** Makes a change that the server refuses until `isProven`. */
function change(calls: string[]): Promise<string> {
  return withApiProof(async () => {
    calls.push("change");
    if (calls.length === 1) throw new ApiError("prove it", 403, "reauthentication_needed");
    return "changed";
  });
}

test("a change goes on after the right password, and says what is wrong before", async () => {
  const requests = serve("secret-1");
  await renderWithQueries(<ProofHost user={user} />);
  const calls: string[] = [];
  const changed = change(calls);
  const field = dialog.getByLabelText("Your password");
  await expect.element(field).toHaveFocus();
  await userEvent.keyboard("wrong{Enter}");
  await expect.element(dialog.getByText("This isn't your current password.")).toBeVisible();
  expect(calls).toHaveLength(1);
  await field.fill("secret-1");
  await dialog.getByRole("button", { name: "Continue" }).click();
  expect(await changed).toBe("changed");
  await expect.element(dialog).not.toBeInTheDocument();
  expect(pathsOf(requests)).toContain("/api/account/reauthentication");
});

test("a change without a proof fails as it did", async () => {
  serve("secret-1");
  await renderWithQueries(<ProofHost user={user} />);
  const calls: string[] = [];
  const refused = change(calls).catch((error: unknown) => error);
  await expect.element(dialog.getByLabelText("Your password")).toBeVisible();
  await userEvent.keyboard("{Escape}");
  expect(await refused).toMatchObject({ message: "prove it" });
  expect(calls).toHaveLength(1);
});

test("another way to prove it can be chosen", async () => {
  serve("secret-1");
  await renderWithQueries(<ProofHost user={user} />);
  const ended = change([]).catch(() => "ended");
  await dialog.getByRole("button", { name: "Email me a code" }).click();
  await expect.element(dialog.getByText("We'll email a code to ada@example.com.")).toBeVisible();
  await dialog.getByRole("button", { name: "Use my password" }).click();
  await expect.element(dialog.getByLabelText("Your password")).toHaveFocus();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  expect(await ended).toBe("ended");
});
