import { beforeEach, expect, test, vi } from "vitest";
import { page } from "vitest/browser";
import { readSession } from "@/lib/session";
import { accessibilityFaults } from "@/testing/axe";
import { answerRequests, renderWithQueries } from "@/testing/render";
import { NotificationsSection } from "./notifications-section";

vi.mock("@/lib/session", { spy: true });

const user = { id: "user-1", email: "ada@example.com", name: "Ada" };
const publicKey = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4";
const userAgent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0";
const device = { id: "device-1", current: false, userAgent, createdAt: "2026-11-21T10:00:00Z" };

let permission: NotificationPermission;
const requestPermission = vi.fn<() => Promise<NotificationPermission>>();

beforeEach(() => {
  localStorage.clear();
  permission = "default";
  requestPermission.mockReset();
  vi.stubGlobal("Notification", {
    get permission() {
      return permission;
    },
    requestPermission,
  });
  vi.mocked(readSession).mockReturnValue({ status: "signed-in", user });
});

/** Renders the section; the browser's prompt will be answered with `answer`. */
async function renderSection(answer: NotificationPermission, devices: object[] = []) {
  requestPermission.mockImplementation(() => Promise.resolve((permission = answer)));
  const requests = answerRequests(() => Response.json({ publicKey, devices }));
  const { container } = await renderWithQueries(<NotificationsSection user={user} />);
  return { container, requests };
}

const mode = (name: string) => page.getByRole("radio", { name, exact: true });

test("asks the browser's permission only when they are switched on", async () => {
  const { container } = await renderSection("granted");
  await expect.element(mode("Off")).toBeChecked();
  await expect.element(page.getByText("No devices yet.")).toBeVisible();
  expect(requestPermission).not.toHaveBeenCalled();
  expect(await accessibilityFaults(container)).toEqual([]);
  await mode("While open").click();
  await expect.element(mode("While open")).toBeChecked();
  expect(requestPermission).toHaveBeenCalledOnce();
  expect(localStorage.getItem("notifications")).toBe(user.id);
  await mode("Off").click();
  await expect.element(mode("Off")).toBeChecked();
  await expect.poll(() => localStorage.getItem("notifications")).toBeNull();
});

test("stay off if the user dismisses the browser's question", async () => {
  await renderSection("default");
  await mode("While open").click();
  await expect.poll(() => requestPermission.mock.calls.length).toBe(1);
  await expect.element(mode("Off")).toBeChecked();
  expect(localStorage.getItem("notifications")).toBeNull();
});

test("says how to unblock them in a browser that blocks them", async () => {
  permission = "denied";
  localStorage.setItem("notifications", user.id);
  const { container } = await renderSection("denied");
  await expect.element(page.getByText("Your browser blocks notifications", { exact: false })).toBeVisible();
  await expect.element(mode("Off")).toBeChecked();
  await expect.element(page.getByText("No devices yet.")).toBeVisible();
  expect(await accessibilityFaults(container)).toEqual([]);
});

test("says so in a browser that has none", async () => {
  vi.stubGlobal("Notification", undefined);
  Reflect.deleteProperty(globalThis, "Notification");
  await renderSection("granted", [device]);
  await expect
    .element(page.getByText("This browser can't show notifications", { exact: false }))
    .toBeVisible();
  expect(page.getByRole("radio").elements()).toEqual([]);
  await expect.element(page.getByText("Firefox on Linux")).toBeVisible();
});

test("removes another device after a question", async () => {
  const { container, requests } = await renderSection("granted", [device]);
  await expect.element(page.getByText("Firefox on Linux")).toBeVisible();
  // Before the question opens: its focus guards count as faults.
  expect(await accessibilityFaults(container)).toEqual([]);
  await page.getByRole("button", { name: "Remove Firefox on Linux" }).click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await expect
    .poll(() => requests.filter(({ method }) => method === "DELETE").map(({ url }) => new URL(url).pathname))
    .toEqual(["/api/push/subscriptions/device-1"]);
});

test("an earlier user's choice is not that of the next one", async () => {
  permission = "granted";
  localStorage.setItem("notifications", "user-0");
  await renderSection("granted");
  await expect.element(mode("Off")).toBeChecked();
});
