import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

/** The WebDriver code points of keys that write nothing. */
const KEYS = {
  Enter: "\uE007",
  Shift: "\uE008",
  Escape: "\uE00C",
  End: "\uE010",
  Home: "\uE011",
  ArrowDown: "\uE015",
};

export type Key = keyof typeof KEYS;

/** Width and height of the window, in pixels. */
const WINDOW = { width: 1100, height: 800 };

/** Browser operations that the smoke tests need. */
export interface Engine {
  readonly open: (url: string) => Promise<void>;
  /** Calls a function in the page, which sees nothing but its arguments, and returns what it returns. */
  readonly run: <Result>(call: (...args: never[]) => Result, ...args: (string | number)[]) => Promise<Result>;
  readonly click: (x: number, y: number) => Promise<void>;
  readonly type: (text: string) => Promise<void>;
  /** Presses a key, with Shift held down if wanted. */
  readonly press: (key: Key, shift?: boolean) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Starts Chromium, over its own protocol. */
async function startChromium(): Promise<Engine> {
  const executablePath = process.env["CHROMIUM"] ?? "/usr/bin/chromium";
  const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-gpu"] });
  const page = await browser.newPage({ viewport: WINDOW, locale: "en-GB" });
  return {
    open: async (url) => void (await page.goto(url)),
    run: (call, ...args) => page.evaluate(expression(call, args)),
    click: (x, y) => page.mouse.click(x, y),
    type: (text) => page.keyboard.type(text),
    press: (key, shift) => page.keyboard.press(shift ? `Shift+${key}` : key),
    close: () => browser.close(),
  };
}

/** Starts Firefox, over WebDriver BiDi, which it speaks without another program. */
async function startFirefox(): Promise<Engine> {
  const profile = await mkdtemp(join(tmpdir(), "firefox-"));
  const child = start(
    process.env["FIREFOX"] ?? "/usr/bin/firefox-esr",
    ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port", "0"],
    { HOME: profile },
  );
  const address = await lineOf(child, /WebDriver BiDi listening on (ws:\S+)/u);
  const bidi = await Bidi.connect(`${address}/session`);
  await bidi.send("session.new", { capabilities: {} });
  const { contexts } = await bidi.send<{ contexts: { context: string }[] }>("browsingContext.getTree", {});
  const context = contexts[0]?.context;
  await bidi.send("browsingContext.setViewport", { context, viewport: WINDOW });
  const act = (actions: object[]) => bidi.send("input.performActions", { context, actions });
  return {
    open: async (url) =>
      void (await bidi.send("browsingContext.navigate", { context, url, wait: "complete" })),
    run: async <Result>(call: (...args: never[]) => Result, ...args: (string | number)[]) => {
      const answer = await bidi.send<{ result?: { value?: string }; exceptionDetails?: { text: string } }>(
        "script.evaluate",
        {
          expression: `JSON.stringify(${expression(call, args)} ?? null)`,
          target: { context },
          awaitPromise: true,
        },
      );
      if (answer.exceptionDetails) throw new Error(answer.exceptionDetails.text);
      return JSON.parse(answer.result?.value ?? "null") as Result;
    },
    click: async (x, y) => void (await act(clickActions(x, y))),
    type: async (text) => void (await act(typeActions(text))),
    press: async (key, shift) => void (await act(pressActions(key, shift))),
    close: async () => {
      bidi.close();
      await stop(child);
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Starts WebKitGTK's browser on a screen of its own, over classic WebDriver. */
async function startWebkit(): Promise<Engine> {
  const screen = start("Xvfb", ["-displayfd", "1", "-screen", "0", "1280x1024x24"]);
  const display = await lineOf(screen, /^(\d+)$/u);
  const port = await freePort();
  const driver = start(process.env["WEBKIT_DRIVER"] ?? "/usr/bin/WebKitWebDriver", [`--port=${port}`], {
    DISPLAY: `:${display}`,
    GDK_BACKEND: "x11",
    WEBKIT_DISABLE_COMPOSITING_MODE: "1",
    // The superuser of a container has no namespaces for the sandbox; only pages of the tests are opened.
    WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS: "1",
  });
  const binary = globSync("/usr/lib/*/webkit*gtk-*/MiniBrowser")[0];
  if (binary === undefined) throw new Error("MiniBrowser is missing: install webkit2gtk-driver");
  const capabilities = {
    alwaysMatch: { "webkitgtk:browserOptions": { binary, args: ["--automation"] } },
  };
  const base = `http://127.0.0.1:${port}/session`;
  const session = await untilServed(() => post<{ sessionId: string }>(base, { capabilities }));
  const path = `${base}/${session.sessionId}`;
  await post(`${path}/window/rect`, WINDOW);
  const act = (actions: object[]) => post(`${path}/actions`, { actions });
  return {
    open: async (url) => void (await post(`${path}/url`, { url })),
    run: (call, ...args) =>
      post(`${path}/execute/sync`, { script: `return ${expression(call, args)};`, args: [] }),
    click: async (x, y) => void (await act(clickActions(x, y))),
    type: async (text) => void (await act(typeActions(text))),
    press: async (key, shift) => void (await act(pressActions(key, shift))),
    close: async () => {
      await fetch(path, { method: "DELETE" });
      await stop(driver);
      await stop(screen);
    },
  };
}

/** The three engines, by the names of their browsers here. */
export const engines: readonly [name: string, start: () => Promise<Engine>][] = [
  ["Chromium", startChromium],
  ["Firefox", startFirefox],
  ["WebKit", startWebkit],
];

function expression(call: (...args: never[]) => unknown, args: readonly (string | number)[]): string {
  return `(${call.toString()})(...${JSON.stringify(args)})`;
}

function clickActions(x: number, y: number): object[] {
  const steps = [
    { type: "pointerMove", x: Math.round(x), y: Math.round(y) },
    { type: "pointerDown", button: 0 },
    { type: "pointerUp", button: 0 },
  ];
  return [{ type: "pointer", id: "mouse", parameters: { pointerType: "mouse" }, actions: steps }];
}

function typeActions(text: string): object[] {
  const steps = [...text].flatMap((value) => [
    { type: "keyDown", value },
    { type: "keyUp", value },
  ]);
  return [{ type: "key", id: "keys", actions: steps }];
}

function pressActions(key: Key, shift = false): object[] {
  const value = KEYS[key];
  const steps = [
    { type: "keyDown", value },
    { type: "keyUp", value },
  ];
  const held = [{ type: "keyDown", value: KEYS.Shift }, ...steps, { type: "keyUp", value: KEYS.Shift }];
  return [{ type: "key", id: "keys", actions: shift ? held : steps }];
}

function start(program: string, args: string[], env: Record<string, string> = {}): ChildProcess {
  const child = spawn(program, args, {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  process.once("exit", () => child.kill("SIGKILL"));
  return child;
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill();
  await exit;
}

/** Returns what a pattern finds in the first line of a program's output that has it. */
async function lineOf(child: ChildProcess, pattern: RegExp): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  child.once("error", reject);
  child.once("exit", () => reject(new Error(`${child.spawnfile} ended before it was ready`)));
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    createInterface({ input: stream }).on("line", (line) => {
      const found = pattern.exec(line)?.[1];
      if (found !== undefined) resolve(found);
    });
  }
  return promise;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

/** Sends a command of classic WebDriver. */
async function post<Value>(url: string, body: object): Promise<Value> {
  const answer = await fetch(url, { method: "POST", body: JSON.stringify(body) });
  const { value } = (await answer.json()) as { value: Value & { error?: string; message?: string } };
  if (!answer.ok) throw new Error(`${value.error}: ${value.message}`);
  return value;
}

/** Tries again while nothing listens yet, for ten seconds. */
async function untilServed<Value>(call: () => Promise<Value>): Promise<Value> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      const isRefused = error instanceof TypeError;
      if (!isRefused || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

interface BidiAnswer {
  id?: number;
  result?: unknown;
  error?: string;
  message?: string;
}

/** A connection that speaks WebDriver BiDi. */
class Bidi {
  readonly #socket: WebSocket;
  readonly #pending = new Map<number, (answer: BidiAnswer) => void>();
  #lastId = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => {
      const answer = JSON.parse(String(data)) as BidiAnswer;
      if (answer.id === undefined) return;
      this.#pending.get(answer.id)?.(answer);
      this.#pending.delete(answer.id);
    });
  }

  static async connect(url: string): Promise<Bidi> {
    const socket = new WebSocket(url);
    await once(socket, "open");
    return new Bidi(socket);
  }

  async send<Result>(method: string, params: object): Promise<Result> {
    const id = ++this.#lastId;
    const answer = await new Promise<BidiAnswer>((resolve) => {
      this.#pending.set(id, resolve);
      this.#socket.send(JSON.stringify({ id, method, params }));
    });
    if (answer.error !== undefined) throw new Error(`${method}: ${answer.error}: ${answer.message}`);
    return answer.result as Result;
  }

  close(): void {
    this.#socket.close();
  }
}
