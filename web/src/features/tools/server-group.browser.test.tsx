import { expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { answerRequests, pathsOf, renderWithQueries } from "@/testing/render";
import { ServerGroup } from "./server-group";

const render = (onChanged: () => Promise<void>) =>
  renderWithQueries(
    <ServerGroup name="notes" count={3} pictures={undefined} connectionId="one" onChanged={onChanged}>
      <p>The tools</p>
    </ServerGroup>,
  );

test.each([
  ["Always allow read-only tools", { tools: "read-only", permission: "always" }],
  ["Ask for every tool", { tools: "all", permission: "ask" }],
  ["Never allow any tool", { tools: "all", permission: "never" }],
])("%s sets that permission for the server's tools", async (name, body) => {
  const requests = answerRequests(() => Response.json({ permissions: [{}, {}] }));
  const onChanged = vi.fn(async () => undefined);
  await render(onChanged);
  await page.getByRole("button", { name: "Permissions for notes" }).click();
  await page.getByRole("button", { name }).click();
  await expect.poll(() => onChanged.mock.calls.length).toBe(1);
  expect(pathsOf(requests)).toEqual(["/api/connections/one/permissions"]);
  expect(await requests[0]?.json()).toEqual(body);
  await expect.element(page.getByRole("button", { name })).not.toBeInTheDocument();
});

test("the tools stand under the name of their server, with their number", async () => {
  await render(async () => undefined);
  const group = page.getByRole("region", { name: "notes" });
  await expect.element(group.getByText("3 tools")).toBeVisible();
  await expect.element(group.getByText("The tools")).toBeVisible();
});
