import { expect, test, vi } from "vitest";
import { page, userEvent } from "vitest/browser";
import { accessibilityFaults } from "@/testing/axe";
import { answerRequests, renderWithQueries } from "@/testing/render";
import type { ServerConnection } from "../server-connection";
import type { RegistryRemote, RegistryServer } from "./queries";
import { RegistrySheet } from "./registry-sheet";

const remote: RegistryRemote = {
  transport: "streamable-http",
  url: "https://mcp.example.com/mcp",
  isPublisherDomain: true,
  variables: [],
  headers: [],
};

const weather: RegistryServer = {
  name: "com.example/weather",
  title: "Weather",
  description: "Forecasts and alerts",
  version: "1.2.0",
  publisher: { name: "example.com", verifiedBy: "domain" },
  isDeprecated: false,
  remotes: [remote],
};

const notes: RegistryServer = {
  ...weather,
  name: "io.github.acme/notes",
  title: "Notes",
  publisher: { name: "acme", verifiedBy: "github" },
  isDeprecated: true,
  websiteUrl: "https://notes.test/",
  repositoryUrl: "https://github.com/acme/notes",
  remotes: [
    {
      transport: "streamable-http",
      url: "https://{region}.notes.test/{team}/mcp",
      variables: [
        { name: "region", isRequired: true, isSecret: false, default: "eu", choices: ["eu", "us"] },
        { name: "team", description: "Your team", isRequired: true, isSecret: false, choices: [] },
      ],
      headers: [
        {
          name: "Authorization",
          value: "Bearer {token}",
          isRequired: true,
          isSecret: true,
          choices: [],
          variables: [
            { name: "token", description: "Your token", isRequired: true, isSecret: true, choices: [] },
          ],
        },
      ],
    },
  ],
};

interface Answers {
  servers?: readonly RegistryServer[];
  /** Answers requests to the registry instead of `servers`. */
  registry?: (url: URL) => Response;
  /** Answer of the proxy that connects to a server. */
  proxy?: object | Promise<object>;
}

interface Sent {
  /** Searches and cursors that were asked for. */
  searches: string[];
  /** Bodies of the requests that change something. */
  bodies: Record<string, unknown>[];
}

/** Answers as our own server, and lists what was sent to it. */
function serve({ servers = [weather, notes], registry, proxy }: Answers): Sent {
  const sent: Sent = { searches: [], bodies: [] };
  answerRequests(async (request) => {
    const url = new URL(request.url);
    if (url.pathname === "/api/registry/servers") {
      sent.searches.push(url.search);
      return registry?.(url) ?? Response.json({ registry: "registry.test", servers });
    }
    if (request.method === "POST") sent.bodies.push((await request.json()) as Record<string, unknown>);
    if (url.pathname.endsWith("/mcp-proxy"))
      return Response.json((await proxy) ?? { success: true, data: [{ name: "forecast" }], error: null });
    if (url.pathname === "/api/quotas") return Response.json({ quotas: [] });
    if (url.pathname === "/api/connections") return Response.json({ connections: [] });
    return Response.json(request.method === "POST" ? [{ id: "1" }] : []);
  });
  return sent;
}

async function open(connections: readonly Partial<ServerConnection>[] = []) {
  const onConnected = vi.fn<(needsSignIn: boolean) => void>();
  const onClose = vi.fn<() => void>();
  const all = connections as readonly ServerConnection[];
  const screen = await renderWithQueries(
    <RegistrySheet userId="u1" connections={all} onConnected={onConnected} onClose={onClose} />,
  );
  return { onConnected, onClose, screen };
}

const dialog = page.getByRole("dialog", { name: "Browse servers" });
const search = dialog.getByRole("searchbox", { name: "Search servers by name" });
const row = (name: string | RegExp) =>
  dialog.getByRole("listitem").filter({ has: page.getByRole("heading", { name }) });
const failure = (status: number, code: string, message: string) =>
  Response.json({ error: { code, message } }, { status });

test("servers are listed with publisher, host, what they ask for, and links", async () => {
  serve({});
  await open();
  await expect.element(dialog.getByText("2 servers from registry.test")).toBeVisible();
  const first = row("Weather");
  await expect.element(first.getByText("example.com, verified domain")).toBeVisible();
  await expect.element(first.getByText("mcp.example.com · Streamable HTTP")).toBeVisible();
  const second = row("Notes");
  await expect.element(second.getByText("acme, verified by GitHub")).toBeVisible();
  await expect.element(second.getByText("Deprecated")).toBeVisible();
  await expect.element(second.getByText("{region}.notes.test · Streamable HTTP")).toBeVisible();
  await expect
    .element(second.getByText("Asks for: region, team, and an API key (Authorization)"))
    .toBeVisible();
  const link = second.getByRole("link", { name: "Website of Notes" });
  await expect.element(link).toHaveAttribute("href", "https://notes.test/");
  await expect.element(link).toHaveAttribute("rel", "noopener noreferrer");
  await expect.element(link).toHaveAttribute("target", "_blank");
  expect(await accessibilityFaults(dialog.element())).toEqual([]);
});

test("a host outside of the publisher's domain is pointed out", async () => {
  const elsewhere = { ...remote, url: "https://example.com.evil.test/mcp", isPublisherDomain: false };
  serve({ servers: [{ ...weather, remotes: [elsewhere] }, notes] });
  await open();
  const warning = "Runs on example.com.evil.test, which isn't on the publisher's domain example.com.";
  await expect.element(row("Weather").getByText(warning)).toBeVisible();
  expect(
    row("Notes")
      .getByText(/^Runs on/u)
      .query(),
  ).toBeNull();
});

test("an empty part of the list is not the end", async () => {
  serve({
    registry: ({ searchParams }) =>
      Response.json(
        searchParams.has("cursor")
          ? { registry: "registry.test", servers: [weather] }
          : { registry: "registry.test", servers: [], nextCursor: "2" },
      ),
  });
  await open();
  await expect.element(dialog.getByText("Nothing found so far.")).toBeVisible();
  await dialog.getByRole("button", { name: "Show more servers" }).click();
  await expect.element(row("Weather")).toBeVisible();
});

test("typing searches once it pauses, keeps the focus, and Escape closes the list", async () => {
  const sent = serve({
    registry: ({ searchParams }) =>
      Response.json({ registry: "registry.test", servers: searchParams.has("search") ? [] : [weather] }),
  });
  const { onClose } = await open();
  await expect.element(row("Weather")).toBeVisible();
  await expect.element(search).toHaveFocus();
  await userEvent.keyboard("nothing ");
  await expect.element(dialog.getByText("No server matches “nothing”.")).toBeVisible();
  await expect.element(search).toHaveFocus();
  // A slow machine types slower than the search waits.
  expect([sent.searches[0], sent.searches.at(-1)]).toEqual(["", "?search=nothing"]);
  expect(sent.searches.length).toBeLessThan("nothing ".length);
  await userEvent.keyboard("{Escape}");
  await vi.waitFor(() => expect(onClose).toHaveBeenCalledOnce());
});

test("further servers follow by their cursor, and the focus stays in the list", async () => {
  const sent = serve({
    registry: ({ searchParams }) =>
      Response.json(
        searchParams.get("cursor") === "c 2"
          ? { registry: "registry.test", servers: [notes] }
          : { registry: "registry.test", servers: [weather], nextCursor: "c 2" },
      ),
  });
  await open();
  await expect.element(dialog.getByText("The first 1 server from registry.test")).toBeVisible();
  await dialog.getByRole("button", { name: "Show more servers" }).click();
  await expect.element(row("Notes")).toBeVisible();
  await expect.element(row("Weather")).toBeVisible();
  await expect.element(dialog.getByRole("list")).toHaveFocus();
  expect(dialog.getByRole("button", { name: "Show more servers" }).query()).toBeNull();
  expect(sent.searches).toEqual(["", "?cursor=c+2"]);
});

test("a server that needs nothing is added with one click", async () => {
  const sent = serve({});
  const { onConnected, onClose } = await open([{ name: "Weather", url: "https://other.test/" }]);
  await dialog.getByRole("button", { name: "Add Weather" }).click();
  await vi.waitFor(() => expect(onConnected).toHaveBeenCalledExactlyOnceWith(false));
  await vi.waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(sent.bodies).toEqual([
    { url: "https://mcp.example.com/mcp" },
    expect.objectContaining({ name: "Weather 2", url: "https://mcp.example.com/mcp" }),
  ]);
});

test("a server that wants a sign-in is added, too", async () => {
  serve({ proxy: { success: false, data: null, error: "sign in", needsSignIn: true } });
  const { onConnected } = await open();
  await dialog.getByRole("button", { name: "Add Weather" }).click();
  await vi.waitFor(() => expect(onConnected).toHaveBeenCalledExactlyOnceWith(true));
});

test("what a server asks for is entered first, by keyboard, and sent in its place", async () => {
  const sent = serve({});
  const { onConnected } = await open();
  const add = dialog.getByRole("button", { name: "Add Notes" });
  await expect.element(add).toBeVisible();
  (add.element() as HTMLElement).focus();
  await userEvent.keyboard("{Enter}");
  const region = row("Notes").getByLabelText("region");
  await expect.element(region).toHaveFocus();
  await expect.element(region).toHaveValue("eu");
  await userEvent.selectOptions(region, "us");
  await userEvent.keyboard("{Tab}a/b{Tab}");
  const token = row("Notes").getByLabelText("Authorization");
  await expect.element(token).toHaveFocus();
  await expect.element(token).toHaveAttribute("type", "password");
  await expect.element(row("Notes").getByText(/^Your token It's stored encrypted/u)).toBeVisible();
  expect(await accessibilityFaults(dialog.element())).toEqual([]);
  await userEvent.keyboard("{Enter}");
  expect(sent.bodies, "the browser asks for the missing value").toEqual([]);
  await userEvent.keyboard("s3cret{Enter}");
  await vi.waitFor(() => expect(onConnected).toHaveBeenCalledOnce());
  const added = { url: "https://us.notes.test/a%2Fb/mcp", headers: { Authorization: "Bearer s3cret" } };
  expect(sent.bodies).toEqual([added, expect.objectContaining({ name: "Notes", ...added })]);
  expect(`${location.href} ${JSON.stringify({ ...localStorage, ...sessionStorage })}`).not.toContain(
    "s3cret",
  );
});

test("a form stays open with what was entered when a search moves its row", async () => {
  serve({
    registry: ({ searchParams }) =>
      Response.json({
        registry: "registry.test",
        servers: searchParams.has("search") ? [notes] : [weather, notes],
      }),
  });
  await open();
  await dialog.getByRole("button", { name: "Add Notes" }).click();
  await dialog.getByLabelText("team").fill("alpha");
  await search.fill("notes");
  await expect.element(dialog.getByText("1 server from registry.test")).toBeVisible();
  await expect.element(dialog.getByLabelText("team")).toHaveValue("alpha");
});

test("Cancel gives the button back, with the focus on it and without what was entered", async () => {
  serve({});
  await open();
  const add = dialog.getByRole("button", { name: "Add Notes" });
  await add.click();
  await row("Notes").getByLabelText("Authorization").fill("s3cret");
  await row("Notes").getByRole("button", { name: "Cancel" }).click();
  await expect.element(add).toHaveFocus();
  await add.click();
  await expect.element(row("Notes").getByLabelText("Authorization")).toHaveValue("");
});

test("a server that refuses stays in its form with what was entered", async () => {
  const sent = serve({});
  const { onConnected } = await open();
  await dialog.getByRole("button", { name: "Add Notes" }).click();
  await row("Notes").getByLabelText("team").fill("x".repeat(2_100));
  await row("Notes").getByLabelText("Authorization").fill("s3cret");
  await row("Notes").getByRole("button", { name: "Connect" }).click();
  await expect.element(row("Notes").getByRole("button", { name: "Connect" })).toBeEnabled();
  await expect.element(row("Notes").getByLabelText("Authorization")).toHaveValue("s3cret");
  expect(onConnected).not.toHaveBeenCalled();
  expect(sent.bodies, "such a URL is not even tried").toEqual([]);
});

test("a sheet that was closed while its server connects moves nothing", async () => {
  const held = Promise.withResolvers<object>();
  const sent = serve({ proxy: held.promise });
  const { onConnected, screen } = await open();
  await dialog.getByRole("button", { name: "Add Weather" }).click();
  await expect.element(dialog.getByRole("button", { name: "Add Weather" })).toHaveAttribute("aria-busy");
  await screen.rerender(<p>elsewhere</p>);
  held.resolve({ success: true, data: [{ name: "forecast" }], error: null });
  await vi.waitFor(() => expect(sent.bodies).toHaveLength(2));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(onConnected).not.toHaveBeenCalled();
});

test("a server that is connected says so", async () => {
  serve({});
  await open([
    { name: "mine", url: "https://MCP.example.com/mcp" },
    { name: "ours", url: "https://us.notes.test/a%2Fb/mcp" },
  ]);
  await expect.element(row("Weather").getByText("Connected")).toBeVisible();
  await expect.element(row("Notes").getByText("Connected")).toBeVisible();
  expect(dialog.getByRole("button", { name: "Add Weather" }).query()).toBeNull();
  // Another team has another URL.
  await expect.element(dialog.getByRole("button", { name: "Add Notes" })).toBeVisible();
});

test("without a network it says so, and tries again on demand", async () => {
  let isDown = true;
  serve({
    registry: () =>
      isDown
        ? failure(502, "registry_unavailable", "the registry did not answer in time")
        : Response.json({ registry: "registry.test", servers: [weather] }),
  });
  await open();
  await expect.element(dialog.getByText("The MCP registry can't be reached right now.")).toBeVisible();
  await expect.element(dialog.getByText(/the registry did not answer in time/u)).toBeVisible();
  expect(await accessibilityFaults(dialog.element())).toEqual([]);
  isDown = false;
  await dialog.getByRole("button", { name: "Try again" }).click();
  await expect.element(row("Weather")).toBeVisible();
});

test("a page that fails later leaves the servers before it", async () => {
  serve({
    registry: ({ searchParams }) =>
      searchParams.has("cursor")
        ? failure(502, "registry_unavailable", "gone")
        : Response.json({ registry: "registry.test", servers: [weather], nextCursor: "2" }),
  });
  await open();
  const more = dialog.getByRole("button", { name: "Show more servers" });
  await more.click();
  await expect.element(dialog.getByRole("alert")).toHaveTextContent("The server said: gone");
  await expect.element(row("Weather")).toBeVisible();
  await expect.element(more).toBeEnabled();
});

test("a registry that was switched off leaves nothing to try again", async () => {
  serve({ registry: () => failure(404, "not_found", "off") });
  await open();
  await expect.element(dialog.getByText(/^Browsing servers has been switched off here\./u)).toBeVisible();
  expect(dialog.getByRole("button", { name: "Try again" }).query()).toBeNull();
});

test("hostile entries show nothing dangerous", async () => {
  const headers = Array.from({ length: 500 }, (_, n) => ({
    name: `X-${n}`,
    isRequired: true,
    isSecret: true,
    choices: [],
    variables: [],
  }));
  const hostile: RegistryServer = {
    ...weather,
    name: "com.evil/one",
    title: "Bank\u202eelgooG <img src=x onerror=alert(1)>",
    description: `<script>alert(1)</script>${"very long ".repeat(1_000)}`,
    publisher: { name: "example.com\u202e", verifiedBy: "domain" },
    websiteUrl: "javascript:alert(1)",
    repositoryUrl: "https://github.com@evil.test/",
    remotes: [{ ...remote, url: "https://google.com@evil.test/mcp" }],
  };
  serve({
    servers: [
      hostile,
      { ...weather, name: "com.evil/two", title: "Two", remotes: [{ ...remote, headers }] },
      { ...weather, name: "com.evil/three", title: "Wide".repeat(100), publisher: null },
    ],
  });
  await open();
  const first = row("Bank⟨U+202E⟩elgooG <img src=x onerror=alert(1)>");
  await expect.element(first.getByText("example.com⟨U+202E⟩, verified domain")).toBeVisible();
  const shown = first.element();
  expect(shown.querySelectorAll("a, img, script")).toHaveLength(0);
  expect(shown.querySelectorAll("button"), "it cannot be added").toHaveLength(0);
  expect(shown.textContent).toContain("<script>alert(1)</script>very long");
  expect(shown.textContent.length).toBeLessThan(1_000);
  expect(shown.getBoundingClientRect().height).toBeLessThan(300);
  await expect.element(row("Two").getByText(/^Can't be added here/u)).toBeVisible();
  const third = row(/^Wide/u);
  await expect.element(third.getByText("Publisher not verified")).toBeVisible();
  expect(dialog.element().scrollWidth).toBe(dialog.element().clientWidth);
});

test("the name of a connection has no invisible characters", async () => {
  const sent = serve({ servers: [{ ...weather, title: "\u202eWea\u200bther" }] });
  const { onConnected } = await open();
  await dialog.getByRole("button", { name: /^Add / }).click();
  await vi.waitFor(() => expect(onConnected).toHaveBeenCalledOnce());
  expect(sent.bodies[1]).toMatchObject({ name: "Wea ther" });
});
