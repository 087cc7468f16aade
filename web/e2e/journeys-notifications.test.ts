import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { BrowserContext, Worker } from "playwright-core";
import { eventually, type AppPage } from "./app-page.ts";
import { startFixture } from "./fixture.ts";
import { inspect, looks } from "./look.ts";
import { serveTools } from "./scripted-mcp.ts";
import { call, hold, say } from "./scripted-model.ts";
import { Settings } from "./settings.ts";

const fixture = await startFixture();

/** Notification as the service worker shows it. */
interface Shown {
  title: string;
  body: string;
  tag: string;
  data: { chatId: string };
}

/** The service worker with what the test has put into it. */
interface RecordingScope {
  shown: Shown[];
  registration: { showNotification: (title: string, options: Omit<Shown, "title">) => Promise<void> };
  dispatchEvent: (event: Event) => boolean;
}

const hide = (appPage: AppPage) => setVisibility(appPage, "hidden");
const look = (appPage: AppPage) => setVisibility(appPage, "visible");

async function setVisibility({ page }: AppPage, state: "hidden" | "visible"): Promise<void> {
  await page.evaluate((value) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, state);
}

/** Opens a page whose browser permits notifications; its push service is the test's. */
async function openPage(t: TestContext, options: object = {}) {
  const { account, appPage } = await fixture.openSignedInPage(t, { serviceWorkers: "allow", ...options });
  const context = appPage.page.context();
  await context.addInitScript(() => {
    // The browser of the tests can ask nobody.
    const key = "permission-of-the-test";
    Object.defineProperty(Notification, "permission", { get: () => localStorage.getItem(key) ?? "default" });
    Notification.requestPermission = () => {
      localStorage.setItem(key, "granted");
      return Promise.resolve("granted");
    };
    // The browser of the tests has no push service of its own.
    PushManager.prototype.getSubscription = () => Promise.resolve(null);
    PushManager.prototype.subscribe = () =>
      Promise.resolve({
        endpoint: "http://127.0.0.1:9/push",
        keys: {
          p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
          auth: "BTBZMqHH6r4Tts7J_aSIgg",
        },
      } as unknown as PushSubscription);
  });
  return { account, appPage, context };
}

/** Returns the service worker, which records notifications from now on. Its pages are taken for hidden. */
async function recordingWorker({ page }: AppPage, context: BrowserContext): Promise<Worker> {
  await page.evaluate(() => navigator.serviceWorker.ready);
  const [worker] = context.serviceWorkers();
  assert.ok(worker);
  await worker.evaluate(() => {
    const scope = globalThis as unknown as RecordingScope;
    scope.shown = [];
    scope.registration.showNotification = (title, options) => {
      scope.shown.push({ title, ...options });
      return Promise.resolve();
    };
    const { clients } = globalThis as unknown as { clients: { matchAll: (o: object) => Promise<object[]> } };
    const matchAll = clients.matchAll.bind(clients);
    clients.matchAll = async (query) =>
      (await matchAll(query)).map((client) => ({
        visibilityState: (globalThis as { seen?: boolean }).seen === true ? "visible" : "hidden",
        focus: () => Promise.resolve(),
        postMessage: (message: unknown, ports: Transferable[]) =>
          // oxlint-disable-next-line unicorn/require-post-message-target-origin -- A client has no target origin.
          (client as MessagePort).postMessage(message, ports),
      }));
  });
  return worker;
}

const shownBy = (worker: Worker) =>
  worker.evaluate(() => (globalThis as unknown as RecordingScope).shown.splice(0));

/** Presses a notification. */
async function press(worker: Worker, chatId: string): Promise<void> {
  await worker.evaluate((id) => {
    const notification = { close: () => undefined, data: { chatId: id } };
    const event = Object.assign(new Event("notificationclick"), {
      notification,
      waitUntil: () => undefined,
    });
    (globalThis as unknown as RecordingScope).dispatchEvent(event);
  }, chatId);
}

async function switchTo(appPage: AppPage, mode: string): Promise<void> {
  const settings = await Settings.open(appPage, "Notifications");
  await settings.panel.getByRole("radio", { name: mode, exact: true }).click();
  await settings.panel.getByRole("radio", { name: mode, exact: true, checked: true }).waitFor();
  await appPage.page.keyboard.press("Escape");
}

test("a hidden tab marks its title and icons when an answer is done, until it is seen", async (t) => {
  const { appPage } = await openPage(t, { serviceWorkers: "block" });
  await appPage.page.addInitScript(() => {
    const badges: (number | undefined)[] = [];
    Object.assign(globalThis, { badges });
    Navigator.prototype.setAppBadge = (count) => {
      badges.push(count);
      return Promise.resolve();
    };
  });
  const badge = () =>
    appPage.page.evaluate(() => (globalThis as unknown as { badges: number[] }).badges.at(-1));
  await appPage.open();
  const icon = () => appPage.page.locator('link[rel="icon"]').getAttribute("href");
  const seen = Promise.withResolvers<void>();
  fixture.model.answer(hold(seen.promise), say("Forty-two."));
  await appPage.ask("Zerubbabel");
  await appPage.stop.waitFor();
  await hide(appPage);
  seen.resolve();
  await eventually(async () =>
    assert.equal(await appPage.page.title(), "(1) “Zerubbabel” has a new answer · AI Chat MCP"),
  );
  assert.equal(await icon(), "/icon-marked.svg");
  assert.equal(await badge(), 1, "the icon of the installed app");
  await look(appPage);
  await eventually(async () => assert.equal(await appPage.page.title(), "AI Chat MCP"));
  assert.equal(await icon(), "/icon.svg");
  assert.equal(await badge(), 0);
});

test("a notification tells of an answer in a hidden tab and opens its chat", async (t) => {
  const { account, appPage, context } = await openPage(t);
  await appPage.open();
  const worker = await recordingWorker(appPage, context);
  await switchTo(appPage, "While open");
  fixture.model.answer(say("Forty-one."));
  await appPage.ask("Zerubbabel");
  await appPage.answered();
  const other = await appPage.anotherTab();
  await other.open(new URL(appPage.page.url()).search.replace("?", "/?"));
  await other.answers.getByText("Forty-one.").waitFor();
  fixture.model.answer(say("Forty-two."));
  await hide(appPage);
  await hide(other);
  await other.ask("Once more");
  let shown: Shown[] = [];
  await eventually(async () => {
    shown.push(...(await shownBy(worker)));
    assert.ok(shown.length > 0);
  });
  const [first] = shown;
  assert.ok(first);
  assert.deepEqual([first.title, first.body], ["Zerubbabel", "Reply finished"]);
  assert.ok(
    shown.every(({ tag }) => tag === first.tag),
    "the tabs name the event the same",
  );
  const chat = await account.newChat();
  await look(appPage);
  await appPage.open(`/?c=${chat}`);
  await other.open(`/?c=${chat}`);
  // The browser chooses which of the tabs.
  await press(worker, first.data.chatId);
  await eventually(() => {
    const chats = [appPage, other].map(({ page }) => new URL(page.url()).searchParams.get("c"));
    assert.ok(chats.includes(first.data.chatId), `the tabs show ${chats.join(" and ")}`);
  });
  await other.open(`/?c=${first.data.chatId}`);
  await other.answers.getByText("Forty-two.").waitFor();
  await hide(other);

  // A page that is visible shows it already.
  await worker.evaluate(() => ((globalThis as { seen?: boolean }).seen = true));
  shown = await shownBy(worker);
  fixture.model.answer(say("Forty-three."));
  await hide(appPage);
  await other.ask("Again");
  await eventually(async () => assert.equal(await other.answers.count(), 3));
  await other.answered();
  assert.deepEqual(await shownBy(worker), []);
});

test("a notification that is pressed while its page loads opens its chat", async (t) => {
  const { account, appPage, context } = await openPage(t);
  const [pressed, open] = [await account.newChat("Pressed"), await account.newChat("Open")];
  await appPage.open(`/?c=${open}`);
  await appPage.composer.waitFor();
  const worker = await recordingWorker(appPage, context);
  const loads = Promise.withResolvers<void>();
  await appPage.page.route(/\/rest\/v1\/ai_chat_sessions/u, async (route) => {
    await loads.promise;
    await route.continue();
  });
  await appPage.page.reload({ waitUntil: "commit" });
  await press(worker, pressed);
  await appPage.tab("Chat").waitFor();
  loads.resolve();
  await appPage.page.waitForURL((url) => url.searchParams.get("c") === pressed);
});

test("a tab names a chat that it has not loaded", async (t) => {
  const { account, appPage, context } = await openPage(t);
  await appPage.open();
  await appPage.composer.waitFor();
  const worker = await recordingWorker(appPage, context);
  await switchTo(appPage, "While open");
  // What has changed is loaded by its ids.
  await appPage.page.route(/\/rest\/v1\/ai_chat_sessions.*id=in\./u, () => undefined);
  await hide(appPage);
  fixture.model.answer(say("Forty-two."));
  await account.say(await account.newChat(), "Zerubbabel");
  const shown: Shown[] = [];
  await eventually(async () => {
    shown.push(...(await shownBy(worker)));
    assert.ok(shown.length > 0);
  });
  assert.deepEqual(
    shown.map(({ title }) => title),
    ["Zerubbabel"],
  );
  assert.equal(await appPage.page.title(), "(1) “Zerubbabel” has a new answer · AI Chat MCP");
});

test("a push message shows a notification and opens its chat", async (t) => {
  const { account, appPage, context } = await openPage(t);
  const [letters, open] = [await account.newChat("Letters"), await account.newChat("Open")];
  await appPage.open(`/?c=${open}`);
  await appPage.composer.waitFor();
  const worker = await recordingWorker(appPage, context);
  await switchTo(appPage, "Always");
  const session = await context.newCDPSession(appPage.page);
  const registration = new Promise<string>((resolve) =>
    session.on("ServiceWorker.workerRegistrationUpdated", ({ registrations }) => {
      const [found] = registrations;
      if (found) resolve(found.registrationId);
    }),
  );
  await session.send("ServiceWorker.enable");
  const message = {
    sessionId: letters,
    turnId: "turn-1",
    title: "Letters",
    state: "waiting",
    waitingFor: { kind: "approval", tool: "send" },
  };
  await session.send("ServiceWorker.deliverPushMessage", {
    origin: fixture.app.url,
    registrationId: await registration,
    data: JSON.stringify(message),
  });
  let shown: Shown[] = [];
  await eventually(async () => {
    shown = [...shown, ...(await shownBy(worker))];
    assert.deepEqual(
      shown.map(({ title, body, tag }) => ({ title, body, tag })),
      [{ title: "Letters", body: "send needs your approval", tag: "turn-1:waiting" }],
    );
  });
  await press(worker, shown[0]?.data.chatId ?? "");
  await appPage.page.waitForURL((url) => url.searchParams.get("c") === letters);
  await appPage.page.getByRole("region", { name: "Letters", exact: true }).waitFor();
});

test("a notification names the tool that asks", async (t) => {
  const { account, appPage, context } = await openPage(t);
  const server = await serveTools([
    { name: "send", description: "Sends a letter.", inputSchema: { type: "object" }, run: () => "Sent." },
  ]);
  t.after(() => server.stop());
  await account.connect("post", server.url);
  await appPage.open();
  const worker = await recordingWorker(appPage, context);
  await switchTo(appPage, "While open");
  fixture.model.answer(call("send", {}));
  await hide(appPage);
  await appPage.ask("Send it");
  await eventually(async () =>
    assert.deepEqual(
      (await shownBy(worker)).map(({ body }) => body),
      ["send needs your approval"],
    ),
  );
});

for (const [name, screen] of looks) {
  test(`the settings of notifications, at ${name}`, async (t) => {
    const { appPage } = await openPage(t, screen);
    await appPage.open();
    await appPage.page.evaluate(() => navigator.serviceWorker.ready);
    const settings = await Settings.open(appPage, "Notifications");
    await settings.panel.getByText("No devices yet.").waitFor();
    await inspect(appPage, "notifications-off", screen);
    await settings.panel.getByRole("radio", { name: "Always", exact: true }).click();
    await settings.panel.getByText("this device", { exact: true }).waitFor();
    await inspect(appPage, "notifications-always", screen);
    await settings.button(/^Remove /u).click();
    await appPage.page.getByRole("button", { name: "Remove", exact: true }).click();
    await settings.panel.getByText("No devices yet.").waitFor();
  });
}

test("the settings say how to unblock notifications", async (t) => {
  for (const [, screen] of looks) {
    const { appPage } = await fixture.openSignedInPage(t, screen);
    await appPage.page.addInitScript(() => {
      Object.defineProperty(Notification, "permission", { get: () => "denied" });
    });
    await appPage.open();
    const settings = await Settings.open(appPage, "Notifications");
    await settings.panel.getByText("Your browser blocks notifications from this site.").waitFor();
    await inspect(appPage, "notifications-blocked", screen);
  }
});
