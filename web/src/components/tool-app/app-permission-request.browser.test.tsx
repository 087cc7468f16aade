import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { render } from "vitest-browser-react";
import type { AppConsent } from "./app-calls";
import { PermissionRequestPanel } from "./app-permission-request";

type Request = Parameters<typeof PermissionRequestPanel>[0]["request"];

async function ask(request: Request) {
  const onDecide = vi.fn<(decision: AppConsent["decision"]) => void>();
  await render(
    <PermissionRequestPanel request={request} serverName="boards" tool="board" onDecide={onDecide} />,
  );
  return onDecide;
}

const call = {
  kind: "tool",
  name: "move_card",
  input: { to: "done" },
  ask: { pin: "p", definition: { description: "Moves\u202e a card" } },
} as const;

test.each([
  ["Allow once", "once"],
  ["Always allow", "always"],
  ["Deny", "deny"],
])("a tool call is answered by %s", async (button, decision) => {
  const onDecide = await ask(call);
  await expect.element(page.getByText('{ "to": "done" }')).toBeVisible();
  await expect.element(page.getByText("Moves⟨U+202E⟩ a card")).toBeVisible();
  await page.getByRole("button", { name: button }).click();
  expect(onDecide.mock.calls).toEqual([[decision]]);
});

test("a request takes no focus", async () => {
  await ask(call);
  await expect.element(page.getByRole("button", { name: "Deny" })).toBeVisible();
  expect(document.activeElement).toBe(document.body);
});

test("a page is shown with its host before it is opened", async () => {
  const onDecide = await ask({ kind: "link", url: new URL("https://docs.example/path?q=1") });
  await expect.element(page.getByText("docs.example", { exact: true })).toBeVisible();
  const link = page.getByRole("link", { name: "Open in a new tab" });
  await expect.element(link).toHaveAttribute("href", "https://docs.example/path?q=1");
  await expect.element(link).toHaveAttribute("rel", "noopener noreferrer");
  await page.getByRole("button", { name: "Don't open" }).click();
  expect(onDecide).toHaveBeenCalledWith("deny");
});

test("a message is shown before it is sent as the user's", async () => {
  const onDecide = await ask({ kind: "message", text: "Archive everything" });
  await expect.element(page.getByText("Archive everything")).toBeVisible();
  await page.getByRole("button", { name: "Send", exact: true }).click();
  expect(onDecide).toHaveBeenCalledWith("once");
});
