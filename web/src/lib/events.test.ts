import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PageEvent, TurnEvent } from "./events";

vi.mock("./session", () => ({ readSession: () => ({ user: { id: "u1" } }) }));
vi.mock("./api-client", () => ({
  authorizedFetch: (_path: string, { signal }: { signal: AbortSignal }) => Promise.resolve(connect(signal)),
}));

/** Open streams, each with functions to write to it and to end it. */
const streams: { say: (event: object) => void; end: () => void }[] = [];

function connect(signal: AbortSignal): Response {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      signal.addEventListener("abort", () => controller.error(signal.reason));
      streams.push({
        say: (event) => controller.enqueue(encoder.encode(`data: ${JSON.stringify(event)}\n\n`)),
        end: () => controller.close(),
      });
    },
  });
  return new Response(body);
}

/** Opens a tab: its own copy of the module, and the events that it received. */
async function openTab() {
  vi.resetModules();
  const { awaitedIn, turnStateOf, subscribeEvents } = await import("./events");
  const heard: PageEvent[] = [];
  const close = subscribeEvents((event) => heard.push(event));
  return { awaitedIn, turnStateOf, heard, close };
}

function turnEvent(sessionId: string, turnId: string, state: TurnEvent["state"]): TurnEvent {
  return { type: "turn", sessionId, turnId, state };
}

/** The page's globals, shared by the tabs. */
const page = Object.assign(new EventTarget(), { visibilityState: "visible" });
const network = new EventTarget();
/** Lock of the reading tab; the others wait for it. */
let queue: Promise<unknown>;
const closers: (() => void)[] = [];

beforeEach(() => {
  queue = Promise.resolve();
  streams.length = 0;
  const request = async (_name: string, _options: object, read: () => Promise<unknown>) => {
    const before = queue;
    const { promise, resolve } = Promise.withResolvers<void>();
    queue = promise;
    await before;
    await read().finally(resolve);
  };
  vi.stubGlobal("document", page);
  // Connections are restored as soon as the network is back.
  vi.stubGlobal("window", network);
  vi.stubGlobal("navigator", { locks: { request } });
});

afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function tabs(count: number) {
  const opened = [];
  for (let n = 0; n < count; n++) {
    const tab = await openTab();
    closers.push(tab.close);
    opened.push(tab);
  }
  await vi.waitFor(() => expect(streams).toHaveLength(1));
  const [stream] = streams;
  if (!stream) throw new Error("nothing reads");
  return { opened, stream };
}

test("what a turn waits for is known as long as it waits", async () => {
  const { opened, stream } = await tabs(1);
  const [tab] = opened;
  const waitingFor = { kind: "approval", tool: "send" } as const;
  stream.say({ ...turnEvent("a", "1", "waiting"), waitingFor });
  await vi.waitFor(() => expect(tab?.awaitedIn("a")).toEqual(waitingFor));
  stream.say(turnEvent("a", "1", "started"));
  await vi.waitFor(() => expect(tab?.awaitedIn("a")).toBeUndefined());
});

test("the state of a turn is known until it has ended", async () => {
  const { opened, stream } = await tabs(1);
  const [tab] = opened;
  for (const state of ["started", "waiting", "started"] as const) {
    stream.say(turnEvent("c1", "r1", state));
    await vi.waitFor(() => expect(tab?.turnStateOf("c1")).toBe(state));
  }
  stream.say(turnEvent("c1", "r1", "ended"));
  await vi.waitFor(() => expect(tab?.turnStateOf("c1")).toBeUndefined());
});

test("the late end of a turn does not hide the next one", async () => {
  const { opened, stream } = await tabs(1);
  stream.say(turnEvent("c1", "r1", "started"));
  stream.say(turnEvent("c1", "r2", "waiting"));
  stream.say(turnEvent("c1", "r1", "ended"));
  await vi.waitFor(() => expect(opened[0]?.heard).toContainEqual(turnEvent("c1", "r1", "ended")));
  expect(opened[0]?.turnStateOf("c1")).toBe("waiting");
});

test("a stream that is opened again tells which turns still go on", async () => {
  const { opened, stream } = await tabs(1);
  stream.say(turnEvent("c1", "r1", "waiting"));
  stream.say(turnEvent("c2", "r2", "waiting"));
  await vi.waitFor(() => expect(opened[0]?.turnStateOf("c2")).toBe("waiting"));
  stream.end();
  await vi.waitFor(() => {
    network.dispatchEvent(new Event("online"));
    expect(streams).toHaveLength(2);
  });
  await vi.waitFor(() => expect(opened[0]?.heard.filter(({ type }) => type === "open")).toHaveLength(2));
  // What flickered here would be announced again.
  expect(opened[0]?.turnStateOf("c2")).toBe("waiting");
  streams[1]?.say(turnEvent("c2", "r2", "waiting"));
  await vi.waitFor(() => expect(opened[0]?.turnStateOf("c1")).toBeUndefined(), { timeout: 10_000 });
  expect(opened[0]?.turnStateOf("c2")).toBe("waiting");
  expect(opened[0]?.heard).toContainEqual(turnEvent("c1", "r1", "ended"));
});

test("a tab that is opened later learns from the one that reads", async () => {
  const { opened, stream } = await tabs(1);
  stream.say(turnEvent("c1", "r1", "waiting"));
  await vi.waitFor(() => expect(opened[0]?.turnStateOf("c1")).toBe("waiting"));
  const later = await openTab();
  closers.push(later.close);
  await vi.waitFor(() => expect(later.turnStateOf("c1")).toBe("waiting"));
  expect(streams).toHaveLength(1);
});

test("a tab that missed events in the background learns of them when it is seen again", async () => {
  const { opened, stream } = await tabs(2);
  const [, stopped] = opened;
  stream.say(turnEvent("c1", "r1", "waiting"));
  await vi.waitFor(() => expect(stopped?.turnStateOf("c1")).toBe("waiting"));

  const passOn = vi.spyOn(BroadcastChannel.prototype, "postMessage").mockReturnValue();
  stream.say(turnEvent("c1", "r1", "ended"));
  stream.say(turnEvent("c2", "r2", "started"));
  await vi.waitFor(() => expect(opened[0]?.turnStateOf("c2")).toBe("started"));
  expect(stopped?.turnStateOf("c1")).toBe("waiting");
  passOn.mockRestore();

  page.dispatchEvent(new Event("visibilitychange"));
  await vi.waitFor(() => expect(stopped?.turnStateOf("c2")).toBe("started"));
  expect(stopped?.turnStateOf("c1")).toBeUndefined();
  expect(stopped?.heard).toContainEqual(turnEvent("c1", "r1", "ended"));
});
