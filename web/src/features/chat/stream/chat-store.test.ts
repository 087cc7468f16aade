import { expect, test } from "vitest";
import type { ChatBackend } from "./chat-contract";
import { ChatStore } from "./chat-store";
import { type ChatMessage, textOf, userMessage } from "./message";

/** A server of one chat: its log of events, its rows, and connections that break where the test says. */
class ScriptedServer {
  readonly log: { id: number; chunk: object }[] = [];
  readonly rows: ChatMessage[] = [];
  readonly requests: string[] = [];
  readonly toasts: string[] = [];
  breakAfter: number[] = [];
  turn: string | undefined;
  refuse: { status: number; body: object } | null = null;
  frames: (() => void)[] = [];
  wait = (): Promise<void> => Promise.resolve();

  say(...chunks: object[]): void {
    for (const chunk of chunks) this.log.push({ id: this.log.length + 1, chunk });
  }

  /** `open` stands in for the connections, where a test wants them to stay open. */
  store(open?: (signal: AbortSignal) => Response): ChatStore {
    const backend: ChatBackend = {
      send: async ({ message = "" }, _tools, signal) => {
        this.requests.push(`send ${message}`);
        if (this.refuse) return Response.json(this.refuse.body, { status: this.refuse.status });
        this.rows.push(userMessage("u1", message, "2026-01-01T00:00:01Z"));
        return open?.(signal) ?? this.#stream(0);
      },
      resume: async (after, signal, turn) => {
        this.requests.push(`resume ${after}`);
        const other = turn !== undefined && turn !== this.turn;
        if (this.log.length === 0 || other) return new Response(null, { status: 204 });
        return open?.(signal) ?? this.#stream(Number(after));
      },
      stop: async () => void this.requests.push("stop"),
      loadPage: async (before) =>
        this.#read(({ createdAt }) => before === null || createdAt < before).slice(-30),
      loadSince: async (from) => this.#read(({ createdAt }) => from === null || createdAt >= from),
      wait: () => this.wait(),
      random: () => 0.5,
      nextFrame: (callback) => {
        this.frames.push(callback);
        return () => undefined;
      },
      now: () => 1_000,
    };
    return new ChatStore(backend, {
      onTitle: (title) => this.toasts.push(`title ${title}`),
      onFailed: (reason) => this.toasts.push(`failed ${reason}`),
      onEnded: () => this.toasts.push("ended"),
      onBackgroundError: (what) => this.toasts.push(`trouble ${what}`),
    });
  }

  /** Rows as they arrive: each time others than before. */
  #read(wanted: (row: ChatMessage) => boolean): ChatMessage[] {
    return structuredClone(this.rows.filter(wanted));
  }

  #stream(after: number): Response {
    const cut = this.breakAfter.shift() ?? Infinity;
    const events = this.log.filter(({ id }) => id > after && id <= cut);
    const lines = events.map(({ id, chunk }) => `id: ${id}\ndata: ${JSON.stringify(chunk)}\n\n`);
    if (cut === Infinity) lines.push("data: [DONE]\n\n");
    return new Response(lines.join(""));
  }
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 5));

function textRun(words: readonly string[]): object[] {
  return [
    { type: "start", messageId: "a1" },
    { type: "text-start", id: "1" },
    ...words.map((delta) => ({ type: "text-delta", id: "1", delta })),
    { type: "text-end", id: "1" },
    { type: "finish" },
  ];
}

test("a broken connection goes on from the last event, without losing or doubling a word", async () => {
  const server = new ScriptedServer();
  server.say(...textRun(["a", "b", "c", "d", "e"]));
  server.breakAfter = [3, 4, 4];
  const store = server.store();
  expect(await store.send({ message: "hi" }, [])).toEqual({ accepted: true });
  await settle();
  expect(server.requests).toEqual(["send hi", "resume 3", "resume 4", "resume 4"]);
  expect(textOf(store.message("a1") as ChatMessage)).toBe("abcde");
  expect(store.status()).toMatchObject({ phase: "idle", reconnecting: false });
});

test("a chat that went on to its next turn while the connection was lost is not told as one answer", async () => {
  const server = new ScriptedServer();
  const start = (turn: string, messageId: string) => ({
    type: "start",
    messageId,
    messageMetadata: { turnId: turn },
  });
  server.turn = "first";
  server.say(start("first", "a1"), { type: "text-start", id: "1" });
  server.breakAfter = [2];
  const store = server.store();
  server.wait = async () => {
    // Meanwhile the first answer was stored, and what waited is being answered.
    server.turn = "second";
    server.log.length = 0;
    server.rows.push({ ...userMessage("a1", "one", "2026-01-01T00:00:02Z"), role: "assistant" });
    server.say(start("second", "a2"), { type: "text-start", id: "1" });
    server.say({ type: "text-delta", id: "1", delta: "two" });
  };
  await store.send({ message: "hi" }, []);
  await settle();
  server.frames.forEach((frame) => frame());
  expect(server.requests).toEqual(["send hi", "resume 2", "resume "]);
  expect(textOf(store.message("a1") as ChatMessage)).toBe("one");
  expect(textOf(store.message("a2") as ChatMessage)).toBe("two");
});

test("a refused message leaves nothing behind and says why", async () => {
  const server = new ScriptedServer();
  server.refuse = { status: 409, body: { error: "A turn is running.", code: "turn_active" } };
  const store = server.store();
  expect(await store.send({ message: "hi" }, [])).toMatchObject({
    accepted: false,
    error: { status: 409, code: "turn_active", message: "A turn is running." },
  });
  await settle();
  expect(store.status()).toMatchObject({ phase: "idle", ids: [] });
});

test("the question shows at once, and gives way to its row after the turn", async () => {
  const server = new ScriptedServer();
  server.say(...textRun(["fine"]));
  const store = server.store();
  const sending = store.send({ message: "how are you" }, []);
  expect(store.status()).toMatchObject({ phase: "sending", ids: ["sending-1000"], sentCount: 1 });
  await sending;
  server.rows.push({ ...userMessage("a1", "fine", "2026-01-01T00:00:02Z"), role: "assistant" });
  await settle();
  expect(store.status().ids).toEqual(["u1", "a1"]);
  expect(server.toasts).toEqual(["ended"]);
});

test("a failed answer keeps its words and its reason", async () => {
  const server = new ScriptedServer();
  server.say(
    { type: "start", messageId: "a1" },
    { type: "text-delta", id: "1", delta: "so" },
    { type: "error", errorText: "the model is gone" },
  );
  const store = server.store();
  await store.send({ message: "hi" }, []);
  await settle();
  expect(store.message("a1")).toMatchObject({ status: "failed", error: "the model is gone" });
  expect(server.toasts).toEqual(["failed the model is gone", "ended"]);
});

test("a turn that runs elsewhere is found and followed", async () => {
  const server = new ScriptedServer();
  server.rows.push(userMessage("u1", "from the other tab", "2026-01-01T00:00:01Z"));
  server.say(...textRun(["x"]));
  const store = server.store();
  await store.open();
  await settle();
  expect(store.status().ids).toEqual(["u1", "a1"]);
});

test("a delta tells the live row alone, and once a frame", async () => {
  const server = new ScriptedServer();
  const store = server.store();
  server.rows.push(userMessage("u0", "before", "2026-01-01T00:00:00Z"));
  await store.open();
  server.say(...textRun(["a", "b", "c", "d"]));
  server.breakAfter = [5];
  server.wait = () => new Promise(() => undefined);
  await store.send({ message: "hi" }, []);
  await settle();
  const heard: string[] = [];
  for (const id of ["u0", "sending-1000", "a1"]) store.subscribeTo(id)(() => heard.push(id));
  expect(server.frames).toHaveLength(1);
  server.frames[0]?.();
  expect(heard).toEqual(["a1"]);
  expect(textOf(store.message("a1") as ChatMessage)).toBe("abc");
});

test("reading the messages again tells only the rows that are others than before", async () => {
  const server = new ScriptedServer();
  server.rows.push(userMessage("u0", "before", "2026-01-01T00:00:00Z"));
  server.rows.push(userMessage("u1", "and this", "2026-01-01T00:00:01Z"));
  const store = server.store();
  await store.open();
  const heard: string[] = [];
  for (const id of ["u0", "u1"]) store.subscribeTo(id)(() => heard.push(id));
  server.rows[1] = userMessage("u1", "and that", "2026-01-01T00:00:01Z");
  await store.reload();
  expect(heard).toEqual(["u1"]);
  expect(textOf(store.message("u1") as ChatMessage)).toBe("and that");
  await store.reopen();
  expect(heard).toEqual(["u1"]);
});

test("stop before the server took the message is sent as soon as it did", async () => {
  const server = new ScriptedServer();
  server.say(...textRun(["x"]));
  const store = server.store();
  const sending = store.send({ message: "hi" }, []);
  await store.stop();
  expect(store.status().phase).toBe("stopping");
  await sending;
  await settle();
  expect(server.requests).toContain("stop");
});

test("a turn that ends while the line is down is taken from the database", async () => {
  const server = new ScriptedServer();
  server.say(...textRun(["a", "b", "c"]));
  server.breakAfter = [3];
  server.wait = () => {
    server.log.length = 0;
    server.rows.push({ ...userMessage("a1", "abc", "2026-01-01T00:00:02Z"), role: "assistant" });
    return Promise.resolve();
  };
  const store = server.store();
  const statuses = new Set<string | undefined>();
  store.subscribeTo("a1")(() => statuses.add(store.message("a1")?.status));
  await store.send({ message: "hi" }, []);
  await settle();
  expect(textOf(store.message("a1") as ChatMessage)).toBe("abc");
  expect([...statuses]).toEqual(["streaming", "done"]);
});

test("a turn that nobody has any more is shown as interrupted", async () => {
  const server = new ScriptedServer();
  server.say(...textRun(["a", "b", "c"]));
  server.breakAfter = [4];
  server.wait = () => {
    server.log.length = 0;
    return Promise.resolve();
  };
  const store = server.store();
  await store.send({ message: "hi" }, []);
  await settle();
  expect(store.message("a1")).toMatchObject({ status: "interrupted" });
});

test("a message that meets a running turn is given back at once, and the turn is shown", async () => {
  const server = new ScriptedServer();
  server.refuse = { status: 409, body: { error: "A turn is running.", code: "turn_active" } };
  server.rows.push(userMessage("u0", "asked elsewhere", "2026-01-01T00:00:00Z"));
  server.say({ type: "start", messageId: "a1" }, { type: "text-delta", id: "1", delta: "working" });
  server.breakAfter = [2, 2];
  server.wait = () => new Promise(() => undefined);
  const store = server.store();
  expect(await store.send({ message: "hi" }, [])).toMatchObject({ accepted: false });
  await settle();
  server.frames.at(-1)?.();
  expect(store.status()).toMatchObject({ phase: "running", ids: ["u0", "a1"] });
});

test("the question stands there once, even when the chat is read again while its turn runs", async () => {
  const server = new ScriptedServer();
  server.say({ type: "start", messageId: "a1" }, { type: "text-delta", id: "1", delta: "working" });
  server.breakAfter = [2];
  server.wait = () => new Promise(() => undefined);
  const store = server.store();
  const opening = store.open();
  await store.send({ message: "hi" }, []);
  await opening;
  await store.open();
  await settle();
  server.frames.at(-1)?.();
  expect(store.status()).toMatchObject({ loaded: true, ids: ["sending-1000", "a1"] });
});

test("other words take the place of what they stand for, and a refusal brings it back", async () => {
  const server = new ScriptedServer();
  const row = (id: string, role: "user" | "assistant", second: number): ChatMessage => ({
    ...userMessage(id, id, `2026-01-01T00:00:0${second}Z`),
    role,
  });
  server.rows.push(row("u0", "user", 0), row("a0", "assistant", 1), row("b0", "assistant", 2));
  const store = server.store();
  await store.open();
  server.refuse = { status: 404, body: { error: "gone" } };
  const sending = store.send({ message: "other", replaces: "u0" }, []);
  expect(store.status().ids).toEqual(["sending-1000"]);
  await sending;
  await settle();
  expect(store.status().ids).toEqual(["u0", "a0", "b0"]);
  const again = store.send({ replaces: "b0" }, []);
  expect(store.status().ids).toEqual(["u0"]);
  await again;
});

test("a chat out of sight lets go of its turn, and follows it again when it is back", async () => {
  const server = new ScriptedServer();
  server.say(...textRun(["a", "b"]).slice(0, -2));
  const lines = server.log.map(({ id, chunk }) => `id: ${id}\ndata: ${JSON.stringify(chunk)}\n\n`).join("");
  let connections = 0;
  const store = server.store((signal) => {
    connections++;
    return new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode(lines));
          signal.addEventListener("abort", () => {
            connections--;
            controller.error(signal.reason);
          });
        },
      }),
    );
  });
  await store.send({ message: "hi" }, []);
  await settle();
  server.frames.forEach((frame) => frame());
  expect([connections, store.status().phase]).toEqual([1, "running"]);

  store.setVisible(false);
  await settle();
  expect([connections, store.status().phase]).toEqual([0, "idle"]);
  expect(server.requests).toEqual(["send hi"]);

  store.setVisible(true);
  await store.open();
  await settle();
  expect(textOf(store.message("a1") as ChatMessage)).toBe("ab");
  server.frames.forEach((frame) => frame());
  expect([connections, store.status().phase]).toEqual([1, "running"]);
  expect(textOf(store.message("a1") as ChatMessage)).toBe("ab");
  expect(store.status().ids).toEqual(["u1", "a1"]);

  store.setVisible(false);
  await store.followOtherTab();
  expect(server.requests).toEqual(["send hi", "resume "]);
});

test("a turn that is told of while its chat asks for it is followed once", async () => {
  const server = new ScriptedServer();
  server.say(...textRun(["a"]));
  const store = server.store();
  await store.open();
  await store.followOtherTab();
  await settle();
  expect(server.requests).toEqual(["resume "]);
});

test("a turn that begins after its chat has asked for one is followed", async () => {
  const server = new ScriptedServer();
  const store = server.store();
  await store.open();
  server.say(...textRun(["a"]));
  await store.followOtherTab();
  await settle();
  expect(server.requests).toEqual(["resume ", "resume "]);
  expect(textOf(store.message("a1") as ChatMessage)).toBe("a");
});

test("an answer that fails out of sight is told", async () => {
  const server = new ScriptedServer();
  const store = server.store((signal) => {
    const body = new ReadableStream({
      start: (controller) => signal.addEventListener("abort", () => controller.error(signal.reason)),
    });
    return new Response(body);
  });
  await store.open();
  await settle();
  server.say(...textRun(["a"]).slice(0, -2));
  await store.send({ message: "hi" }, []);
  store.setVisible(false);
  const failed = {
    ...userMessage("a1", "a", "2026-01-01T00:00:02Z"),
    role: "assistant",
    status: "failed",
  } as const;
  server.rows.push({ ...failed, error: "The model is away." });
  await store.catchUp();
  expect(server.toasts).toEqual(["failed The model is away."]);
  expect(store.status().ids).toEqual(["u1", "a1"]);
});
