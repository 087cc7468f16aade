import { type Browser, type CDPSession, chromium, type Page } from "playwright-core";
import type { Account } from "../e2e/account.ts";

const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-precise-memory-info"];

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium", args: flags });
}

/** Timings that the page measures itself, of its loading and of user actions, in milliseconds. */
export interface Seen {
  /** Largest contentful paint. */
  paintedAt: number;
  /** Appearance of the message field. */
  usableAt: number;
  /** Tasks of more than 50 ms. */
  longTasks: number;
  /** Total time of long tasks beyond 50 ms each. */
  blockedMs: number;
  /** From each key and click to the picture that shows it. */
  inputsMs: number[];
  frames: number;
  /** Frames that came more than 34 ms after the one before: two of 60 a second were left out. */
  lateFrames: number;
}

/** A page whose doings are measured, on a processor so many times as slow as this one. */
export class Measured {
  readonly page: Page;
  readonly #session: CDPSession;

  private constructor(page: Page, session: CDPSession) {
    this.page = page;
    this.#session = session;
  }

  static async open(
    browser: Browser,
    origin: string,
    slowdown: number,
    account?: Account,
  ): Promise<Measured> {
    const origins = account ? [{ origin, localStorage: [account.stored] }] : [];
    const context = await browser.newContext({
      baseURL: origin,
      locale: "en-GB",
      viewport: { width: 1280, height: 800 },
      storageState: { cookies: [], origins },
    });
    const page = await context.newPage();
    await page.addInitScript(watch);
    const session = await context.newCDPSession(page);
    await session.send("Performance.enable");
    await session.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
    return new Measured(page, session);
  }

  get composer() {
    return this.page.getByRole("textbox", { name: "Message", exact: true });
  }

  /** Sends a message, and waits until its answer has this in it. */
  async ask(text: string, until: string): Promise<void> {
    await this.composer.fill(text);
    await this.composer.press("Enter");
    const answer = this.page.getByRole("article", { name: "Assistant said" }).last();
    await answer.getByText(until).first().waitFor({ timeout: 180_000 });
  }

  /** Returns the measurements since the last call. */
  async seen(): Promise<Seen> {
    return this.page.evaluate(() => {
      const { seen } = window as unknown as { seen: Seen };
      const copy = structuredClone(seen);
      Object.assign(seen, { longTasks: 0, blockedMs: 0, inputsMs: [], frames: 0, lateFrames: 0 });
      return copy;
    });
  }

  /** Milliseconds for which the main thread has worked. */
  async workedMs(): Promise<number> {
    const { metrics } = await this.#session.send("Performance.getMetrics");
    return (metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0) * 1_000;
  }

  /** Live heap in MB. */
  async heapMb(): Promise<number> {
    await this.#session.send("HeapProfiler.collectGarbage");
    return (await this.#session.send("Runtime.getHeapUsage")).usedSize / 1e6;
  }

  async close(): Promise<void> {
    await this.page.context().close();
  }
}

/** Runs in the page, before its own scripts. */
function watch(): void {
  const seen: Seen = {
    paintedAt: 0,
    usableAt: 0,
    longTasks: 0,
    blockedMs: 0,
    inputsMs: [],
    frames: 0,
    lateFrames: 0,
  };
  Object.assign(window, { seen });
  const observe = (type: string, each: (entry: PerformanceEntry) => void, options: object = {}) =>
    new PerformanceObserver((list) => list.getEntries().forEach(each)).observe({
      type,
      buffered: true,
      ...options,
    });
  observe("largest-contentful-paint", ({ startTime }) => (seen.paintedAt = startTime));
  observe("longtask", ({ duration }) => {
    seen.longTasks += 1;
    seen.blockedMs += duration - 50;
  });
  observe(
    "event",
    (entry) => {
      if ((entry as PerformanceEventTiming).interactionId !== 0) seen.inputsMs.push(entry.duration);
    },
    { durationThreshold: 16 },
  );
  let before = 0;
  const frame = (now: number) => {
    if (before > 0) {
      seen.frames += 1;
      if (now - before > 34) seen.lateFrames += 1;
    }
    before = now;
    if (seen.usableAt === 0 && document.querySelector("textarea:enabled")) seen.usableAt = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}
