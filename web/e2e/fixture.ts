import assert from "node:assert/strict";
import { after, type TestContext } from "node:test";
import { type Browser, type BrowserContextOptions, chromium } from "playwright-core";
import { Account } from "./account.ts";
import { startApp, type TestApp } from "./app.ts";
import { ScriptedModel } from "./scripted-model.ts";
import { AppPage } from "./app-page.ts";

const browserArgs = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // A microphone that plays beeps, for pages that may use it.
  "--use-fake-device-for-media-stream",
  // The headless shell cannot ask for it.
  "--use-fake-ui-for-media-stream",
];

interface PageOptions extends BrowserContextOptions {
  /** Origin of the app, if it is not the default. */
  origin?: string;
}

/** Running app with a scripted model. */
export interface ServerFixture {
  app: TestApp;
  model: ScriptedModel;
}

/** Shared by the tests of a file: the app, its model, and a browser. */
export interface Fixture extends ServerFixture {
  /** Opens a browser context without a session. */
  openPage: (t: TestContext, options?: PageOptions) => Promise<AppPage>;
  /** Opens a browser context with the session of a new account; no page is loaded yet. */
  openSignedInPage: (
    t: TestContext,
    options?: PageOptions,
  ) => Promise<{ account: Account; appPage: AppPage }>;
}

/** Starts the app and its model; both stop after the file's last test. */
export async function startServerFixture(env: Record<string, string> = {}): Promise<ServerFixture> {
  const model = await ScriptedModel.start();
  after(() => model.stop());
  const app = await startApp({ env: { OPENAI_BASE_URL: model.baseUrl, ...env } });
  after(() => app.stop());
  return { app, model };
}

/** Starts the app, its model and a browser; all stop after the file's last test. */
export async function startFixture(env: Record<string, string> = {}): Promise<Fixture> {
  const { app, model } = await startServerFixture(env);
  const browser = await launch();
  after(() => browser.close());

  async function newPage(t: TestContext, { origin = app.url, ...options }: PageOptions = {}) {
    const context = await browser.newContext({
      baseURL: origin,
      locale: "en-GB",
      // Without a graphics card, animations take most of a core.
      reducedMotion: "reduce",
      // Requests that pass through a service worker cannot be held or changed by a test.
      serviceWorkers: "block",
      ...options,
    });
    context.setDefaultTimeout(15_000);
    t.after(() => context.close());
    t.after(() => model.reset());
    const appPage = await AppPage.in(context, origin);
    t.after(() => assert.deepEqual(appPage.crashes, [], "no error of a script goes uncaught"));
    return appPage;
  }

  function openPage(t: TestContext, options: PageOptions = {}) {
    showWarnings(t, app);
    return newPage(t, options);
  }

  async function openSignedInPage(t: TestContext, options: PageOptions = {}) {
    showWarnings(t, app);
    const origin = options.origin ?? app.url;
    const account = await Account.create(origin);
    const storageState = { cookies: [], origins: [{ origin, localStorage: [account.stored] }] };
    return { account, appPage: await newPage(t, { storageState, ...options }) };
  }

  return { app, model, openPage, openSignedInPage };
}

/** Prints the warnings and errors of the server's log if the test fails. */
function showWarnings(t: TestContext, app: TestApp): void {
  t.after(() => {
    // The types lag behind Node.js.
    if ((t as TestContext & { readonly passed: boolean }).passed) return;
    const lines = app.log().split("\n");
    for (const line of lines.filter((text) => /"level":"(?:WARN|ERROR)"/u.test(text)).slice(-20))
      t.diagnostic(line);
  });
}

function launch(): Promise<Browser> {
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: browserArgs });
}
