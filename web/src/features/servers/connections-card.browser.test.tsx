import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { expect, test } from "vitest";
import { cdp, page } from "vitest/browser";
import { render } from "vitest-browser-react";
import { ConnectionsCard } from "./connections-card";
import type { ServerConnection } from "./server-connection";

const connection: ServerConnection = {
  id: "c1",
  name: "toolbox",
  url: "http://localhost:3000/mcp/toolbox",
  status: "connected",
  reason: undefined,
  nextTryAt: undefined,
  tools: [],
  listedAt: undefined,
  disabledTools: [],
  usesFallback: false,
  signedIn: false,
};

const card = (list: readonly ServerConnection[], loading: boolean) => (
  <QueryClientProvider client={new QueryClient()}>
    <ConnectionsCard userId="u1" connections={{ list, loading }} />
  </QueryClientProvider>
);

function boxOf(element: Element) {
  const { top, bottom, left, right } = element.getBoundingClientRect();
  return { top, bottom, left, right };
}

test.each([
  ["a mouse", 900],
  ["a narrow window", 320],
])("placeholders of connections are as high as connections, with %s", async (_, width) => {
  await page.viewport(width, 800);
  const { rerender } = await render(card([], true));
  const placeholders = [...page.getByRole("status", { name: "Loading" }).element().children].map(boxOf);
  await rerender(card([connection, { ...connection, id: "c2", name: "files" }], false));
  const rows = page.getByRole("listitem").elements().map(boxOf);
  expect(rows).toHaveLength(2);
  expect(placeholders).toEqual(rows);
});

test.each(["no-preference", "reduce"])(
  "placeholders are invisible for 150 ms, with motion: %s",
  async (value) => {
    const features = [{ name: "prefers-reduced-motion", value }];
    await cdp().send("Emulation.setEmulatedMedia", { features });
    await render(card([], true));
    const placeholder = page.getByRole("status", { name: "Loading" }).element();
    const [animation] = placeholder.getAnimations();
    animation?.pause();
    const opacityAt = (timeMs: number) => {
      if (animation) animation.currentTime = timeMs;
      return getComputedStyle(placeholder).opacity;
    };
    expect([0, 149, 1_000].map(opacityAt)).toEqual(["0", "0", "1"]);
    await cdp().send("Emulation.setEmulatedMedia", { features: [] });
  },
);
