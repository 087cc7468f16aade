import assert from "node:assert/strict";
import { after, type TestContext } from "node:test";
import { type Browser, type BrowserContextOptions, chromium } from "playwright-core";
import { Account } from "./account.ts";
import { startApp, type TestApp } from "./app.ts";
import { ScriptedModel } from "./scripted-model.ts";
import { Visitor } from "./visitor.ts";

const browserArgs = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

interface VisitOptions extends BrowserContextOptions {
  /** Where the visitor finds the app, when it is not its own address. */
  origin?: string;
}

/** The app and the model that it asks. */
export interface Backstage {
  app: TestApp;
  model: ScriptedModel;
}

/** What the journeys of a file share: the app, the model it asks, and a browser. */
export interface Stage extends Backstage {
  /** Somebody with a browser of their own, not signed in. */
  visitor: (t: TestContext, options?: VisitOptions) => Promise<Visitor>;
  /** Somebody with a new account, signed in, before the first page is open. */
  member: (t: TestContext, options?: VisitOptions) => Promise<{ account: Account; visitor: Visitor }>;
}

/** Starts the app and its model; they end with the file's last test. */
export async function openBackstage(env: Record<string, string> = {}): Promise<Backstage> {
  const model = await ScriptedModel.start();
  after(() => model.stop());
  const app = await startApp({ env: { OPENAI_BASE_URL: model.baseUrl, ...env } });
  after(() => app.stop());
  return { app, model };
}

/** Starts the app, its model and a browser; they end with the file's last test. */
export async function openStage(env: Record<string, string> = {}): Promise<Stage> {
  const { app, model } = await openBackstage(env);
  const browser = await launch();
  after(() => browser.close());

  async function visitor(t: TestContext, { origin = app.url, ...options }: VisitOptions = {}) {
    const context = await browser.newContext({ baseURL: origin, locale: "en-GB", ...options });
    context.setDefaultTimeout(15_000);
    t.after(() => context.close());
    t.after(() => model.reset());
    const somebody = await Visitor.in(context, origin);
    t.after(() => assert.deepEqual(somebody.crashes, [], "no error of a script goes uncaught"));
    return somebody;
  }

  async function member(t: TestContext, options: VisitOptions = {}) {
    const origin = options.origin ?? app.url;
    const account = await Account.create(origin);
    const storageState = { cookies: [], origins: [{ origin, localStorage: [account.stored] }] };
    return { account, visitor: await visitor(t, { storageState, ...options }) };
  }

  return { app, model, visitor, member };
}

function launch(): Promise<Browser> {
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  return chromium.launch({ executablePath, args: browserArgs });
}
