import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** One thing that the model does in an answer. */
export type Step =
  | { kind: "say" | "think"; text: string; paceMs: number }
  | { kind: "call"; name: string; args: unknown }
  | { kind: "hold"; until: Promise<unknown> }
  | { kind: "fail"; status: number; message: string }
  | { kind: "break-off" };

/** Words, a few letters at a time, so far apart. */
export const say = (text: string, paceMs = 0): Step => ({ kind: "say", text, paceMs });
export const think = (text: string): Step => ({ kind: "think", text, paceMs: 0 });
/** A call of a tool, its arguments in pieces; those given as text go out as they are, valid JSON or not. */
export const call = (name: string, args: unknown): Step => ({ kind: "call", name, args });
/** Nothing more until the promise is settled; one that never is makes a model that hangs. */
export const hold = (until: Promise<unknown>): Step => ({ kind: "hold", until });
/** A refusal in place of an answer. */
export const fail = (status: number, message: string): Step => ({ kind: "fail", status, message });
/** The connection ends in the middle of the answer. */
export const breakOff: Step = { kind: "break-off" };

/** A request as it came. */
export interface ModelRequest {
  model: string;
  messages: { role: string; content?: unknown; tool_call_id?: string; tool_calls?: unknown[] }[];
  tools?: { function: { name: string; description?: string; parameters?: unknown } }[];
}

/** Letters in one piece of an answer: odd, so that pieces end inside words and marks. */
const pieceLength = 7;

/** A model server that speaks OpenAI's wire and says what it is told to. */
export class ScriptedModel {
  readonly requests: ModelRequest[] = [];
  readonly #answers: Step[][] = [];
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  static async start(): Promise<ScriptedModel> {
    const model = new ScriptedModel();
    model.#server.listen(0, "127.0.0.1");
    await once(model.#server, "listening");
    return model;
  }

  /** For `OPENAI_BASE_URL`. */
  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** What it does at the next request that has no answer yet. Without any it says "OK". */
  answer(...steps: Step[]): void {
    this.#answers.push(steps);
  }

  /** Forgets what was not asked for, so that one test's rest is not the next one's answer. */
  reset(): void {
    this.#answers.length = 0;
    this.requests.length = 0;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const json = { "content-type": "application/json" };
    if (request.method === "GET") {
      response.writeHead(200, json).end(JSON.stringify({ data: [{ id: "scripted" }] }));
      return;
    }
    this.requests.push(JSON.parse(await textOf(request)) as ModelRequest);
    const steps = this.#answers.shift() ?? [say("OK")];
    const [first] = steps;
    if (first?.kind === "fail") {
      response.writeHead(first.status, json).end(JSON.stringify({ error: { message: first.message } }));
      return;
    }
    await stream(steps, response);
  }
}

async function stream(steps: Step[], response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta: object, finish: string | null = null) =>
    response.write(
      `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`,
    );
  let calls = 0;
  for (const step of steps) {
    if (step.kind === "break-off" || step.kind === "fail") {
      response.destroy();
      return;
    }
    if (step.kind === "hold") await step.until;
    else if (step.kind === "call") sendCall(step, calls++, send);
    else {
      const field = step.kind === "say" ? "content" : "reasoning_content";
      for (const piece of pieces(step.text)) {
        send({ [field]: piece });
        await sleep(step.paceMs);
      }
    }
  }
  send({}, calls > 0 ? "tool_calls" : "stop");
  response.end("data: [DONE]\n\n");
}

function sendCall(
  { name, args }: { name: string; args: unknown },
  index: number,
  send: (delta: object) => void,
): void {
  const text = typeof args === "string" ? args : JSON.stringify(args);
  const id = `call_${crypto.randomUUID()}`;
  send({ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] });
  for (const piece of pieces(text)) send({ tool_calls: [{ index, function: { arguments: piece } }] });
}

function pieces(text: string): string[] {
  const letters = [...text];
  const count = Math.ceil(letters.length / pieceLength);
  return Array.from({ length: count }, (_, at) =>
    letters.slice(at * pieceLength, (at + 1) * pieceLength).join(""),
  );
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request) text += String(piece);
  return text;
}
