import assert from "node:assert/strict";
import { createServer, request as forward } from "node:http";
import { once } from "node:events";
import { type AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { eventually, type AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { desk, inspect } from "./look.ts";

const fixture = await startFixture();

/** A page whose service worker runs. */
const withWorker = { serviceWorkers: "allow" } as const;

async function isControlled({ page }: AppPage): Promise<void> {
  await page.evaluate(async () => {
    await navigator.serviceWorker.ready;
    if (!navigator.serviceWorker.controller)
      await new Promise((resolve) => navigator.serviceWorker.addEventListener("controllerchange", resolve));
  });
}

/** The paths of everything that the service worker has stored. */
const storedPaths = ({ page }: AppPage) =>
  page.evaluate(async () => {
    const paths: string[] = [];
    for (const name of await caches.keys())
      for (const request of await (await caches.open(name)).keys()) paths.push(new URL(request.url).pathname);
    return paths;
  });

/** An origin whose page and service worker have the version of this name; a `broken` one has no service worker. */
async function upgradableOrigin(t: TestContext): Promise<{ url: string; upgradeTo: (name: string) => void }> {
  const { port } = new URL(fixture.app.url);
  let version = "first";
  const proxy = createServer((incoming, outgoing) => {
    if (incoming.url === "/sw.js" && version === "broken") {
      outgoing.writeHead(500).end();
      return;
    }
    const isChanged = incoming.url === "/" || incoming.url === "/sw.js";
    const headers = { ...incoming.headers };
    if (isChanged) {
      headers["accept-encoding"] = "identity";
      delete headers["if-none-match"];
    }
    const onward = forward({ port, path: incoming.url, method: incoming.method, headers }, (answer) => {
      outgoing.on("close", () => answer.destroy());
      if (!isChanged) {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
        return;
      }
      void answer.toArray().then((chunks: Buffer[]) => {
        const body = Buffer.concat(chunks)
          .toString()
          .replace("<title>AI Chat MCP", `<title>AI Chat MCP, ${version}`)
          .replace(/shell-[0-9a-f]{12}/u, `shell-${version}`);
        const { "content-length": _, etag: __, ...kept } = answer.headers;
        outgoing.writeHead(answer.statusCode ?? 502, kept);
        outgoing.end(body);
      });
    });
    onward.on("error", () => outgoing.destroy());
    incoming.pipe(onward);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return {
    url: `http://localhost:${(proxy.address() as AddressInfo).port}`,
    upgradeTo: (name) => (version = name),
  };
}

test("the app can be installed", async (t) => {
  const { appPage } = await fixture.openSignedInPage(t, withWorker);
  await appPage.open();
  await isControlled(appPage);
  const session = await appPage.page.context().newCDPSession(appPage.page);
  const { errors, url } = await session.send("Page.getAppManifest");
  assert.deepEqual(errors, []);
  assert.equal(new URL(url).pathname, "/app.webmanifest");
  const manifest = await fetch(url);
  assert.equal(manifest.headers.get("content-type"), "application/manifest+json");
  const { icons } = (await manifest.json()) as { icons: { src: string; type: string }[] };
  for (const { src, type } of [...icons, { src: "/apple-touch-icon.png", type: "image/png" }])
    assert.equal((await fetch(new URL(src, url))).headers.get("content-type"), type, src);
  const worker = await fetch(new URL("/sw.js", url));
  assert.equal(worker.headers.get("cache-control"), "no-cache");
});

for (const viewport of [{ width: 320, height: 640 }, { width: 360, height: 640 }, desk]) {
  test(`the app opens without a network and says so, at ${viewport.width} px`, async (t) => {
    const look = { viewport, colorScheme: "light" as const, hasTouch: viewport !== desk };
    const { appPage } = await fixture.openSignedInPage(t, { ...look, ...withWorker });
    await appPage.open();
    await appPage.composer.waitFor();
    await isControlled(appPage);
    await appPage.page.context().setOffline(true);
    await appPage.page.reload();
    await appPage.page
      .getByRole("status")
      .getByText("You're offline. Unsent messages will be sent when you're back online.")
      .waitFor();
    await appPage.page.getByText("Your chats appear here as soon as you're back online.").waitFor();
    await inspect(appPage, "offline-start", look);
    await appPage.page.context().setOffline(false);
    await appPage.page.reload();
    await appPage.composer.waitFor();
  });
}

test("the service worker stores the shell alone, also after the user has signed out", async (t) => {
  const { account, appPage } = await fixture.openSignedInPage(t, withWorker);
  await account.fill(await account.newChat(), ["Zerubbabel", "Nehemiah"]);
  await appPage.open();
  await isControlled(appPage);
  await appPage.page.reload();
  await appPage.answers.getByText("Nehemiah").waitFor();
  const isOfShell = (path: string) =>
    path === "/" || path === "/before-paint.js" || path.startsWith("/assets/");
  const stored = await storedPaths(appPage);
  assert.ok(stored.includes("/"));
  assert.deepEqual(
    stored.filter((path) => !isOfShell(path)),
    [],
  );
  await appPage.pressInHeader("Sign Out");
  await appPage.arrivesAt("/auth");
  assert.deepEqual(
    (await storedPaths(appPage)).filter((path) => !isOfShell(path)),
    [],
  );
  const shell = await appPage.page.evaluate(async () => (await caches.match("/"))?.text());
  assert.ok(shell?.includes("<title>") && !shell.includes(account.email));
});

test("a new version is opened at the next load, and is kept for the time without a network", async (t) => {
  const origin = await upgradableOrigin(t);
  const { appPage } = await fixture.openSignedInPage(t, { ...withWorker, origin: origin.url });
  await appPage.open();
  await appPage.composer.waitFor();
  await isControlled(appPage);
  origin.upgradeTo("second");
  await appPage.page.reload();
  await appPage.composer.waitFor();
  assert.match(await appPage.page.title(), /AI Chat MCP, second$/u);
  await eventually(async () =>
    assert.deepEqual(await appPage.page.evaluate(() => caches.keys()), ["shell-second"]),
  );
  await appPage.page.context().setOffline(true);
  await appPage.page.reload();
  await appPage.tab("MCP Servers").waitFor();
  assert.match(await appPage.page.title(), /AI Chat MCP, second$/u);
});

test("a service worker that cannot be loaded changes nothing", async (t) => {
  const origin = await upgradableOrigin(t);
  origin.upgradeTo("broken");
  const { appPage } = await fixture.openSignedInPage(t, { ...withWorker, origin: origin.url });
  await appPage.open();
  await appPage.ask("Zerubbabel");
  await eventually(async () => assert.equal(await appPage.answers.count(), 1));
  const refusal = await appPage.page.evaluate(() =>
    navigator.serviceWorker.register("/sw.js").then(
      () => "registered",
      (error: Error) => error.name,
    ),
  );
  assert.equal(refusal, "TypeError");
});
