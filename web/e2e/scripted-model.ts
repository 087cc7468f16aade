import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { speechAt } from "./scripted-providers.ts";
import { pieces, type Speech } from "./scripted-providers/speech.ts";

/** One thing that the model does in an answer. */
export type Step =
  | { kind: "say" | "think"; text: string; paceMs: number }
  | { kind: "call"; name: string; args: unknown }
  | { kind: "raw"; text: string }
  | { kind: "hold"; until: Promise<unknown> }
  | { kind: "fail"; status: number; message: string }
  | { kind: "break-off" };

/** Words, a few letters at a time, so far apart. */
export const say = (text: string, paceMs = 0): Step => ({ kind: "say", text, paceMs });
export const think = (text: string): Step => ({ kind: "think", text, paceMs: 0 });
/** A call of a tool, its arguments in pieces; those given as text go out as they are, valid JSON or not. */
export const call = (name: string, args: unknown): Step => ({ kind: "call", name, args });
/** Bytes in the middle of the answer, as they are. */
export const raw = (text: string): Step => ({ kind: "raw", text });
/** Nothing more until the promise is settled; one that never is makes a model that hangs. */
export const hold = (until: Promise<unknown>): Step => ({ kind: "hold", until });
/** A refusal in place of an answer. */
export const fail = (status: number, message: string): Step => ({ kind: "fail", status, message });
/** The model reaches its limit on length, over the chat completions API. */
export const reachLimit: Step = raw(
  `data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "length" }] })}\n\ndata: [DONE]\n\n`,
);
/** The connection ends in the middle of the answer. */
export const breakOff: Step = { kind: "break-off" };

/** A request as it came. */
export interface ModelRequest {
  model: string;
  messages: { role: string; content?: unknown; tool_call_id?: string; tool_calls?: unknown[] }[];
  tools?: { function: { name: string; description?: string; parameters?: unknown } }[];
}

/** A recording to transcribe, as it came. */
export interface TranscriptionRequest {
  fields: Record<string, string>;
  name: string;
  type: string;
  bytes: Uint8Array;
}

/** Model server that returns scripted answers over every provider API; the path of a request selects the API. */
export class ScriptedModel {
  readonly requests: ModelRequest[] = [];
  readonly transcriptions: TranscriptionRequest[] = [];
  /** What it hears in every recording. */
  transcript = "";
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

  /** For the base URLs of the other wires. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** For `OPENAI_BASE_URL`. */
  get baseUrl(): string {
    return `${this.origin}/v1`;
  }

  /** The models that it lists. */
  names: readonly string[] = ["scripted"];

  /** Queues steps for the next requests. Without any it answers "OK". */
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
      const data = this.names.map((id) => ({ id }));
      const list = { data, models: this.names.map((name) => ({ name: `models/${name}` })) };
      response.writeHead(200, json).end(JSON.stringify(list));
      return;
    }
    if (request.url === "/v1/audio/transcriptions") {
      this.transcriptions.push(await transcriptionRequestOf(request));
      response.writeHead(200, json).end(JSON.stringify({ text: this.transcript }));
      return;
    }
    this.requests.push(JSON.parse(await textOf(request)) as ModelRequest);
    const steps = this.#answers.shift() ?? [say("OK")];
    const [first] = steps;
    if (first?.kind === "fail") {
      response.writeHead(first.status, json).end(JSON.stringify({ error: { message: first.message } }));
      return;
    }
    await stream(steps, speechAt(request.url ?? ""), response);
  }
}

async function stream(steps: Step[], speech: Speech, response: ServerResponse): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(speech.begin());
  for (const step of steps) {
    if (step.kind === "break-off" || step.kind === "fail") {
      response.destroy();
      return;
    }
    if (step.kind === "hold") await step.until;
    else if (step.kind === "raw") response.write(step.text);
    else if (step.kind === "call") {
      const { name, args } = step;
      response.write(speech.call(name, typeof args === "string" ? args : JSON.stringify(args)));
    } else {
      for (const piece of pieces(step.text)) {
        response.write(step.kind === "say" ? speech.say(piece) : speech.think(piece));
        await sleep(step.paceMs);
      }
    }
  }
  response.end(speech.end());
}

/** Reads a form as any server does. */
async function transcriptionRequestOf(request: IncomingMessage): Promise<TranscriptionRequest> {
  const body: Buffer[] = [];
  for await (const piece of request) body.push(piece as Buffer);
  const headers = { "content-type": request.headers["content-type"] ?? "" };
  const form = await new Response(Buffer.concat(body), { headers }).formData();
  const fields: Record<string, string> = {};
  const files: File[] = [];
  for (const [name, value] of form) {
    if (typeof value === "string") fields[name] = value;
    else files.push(value);
  }
  const [file] = files;
  if (!file) throw new Error("the form has no file");
  return { fields, name: file.name, type: file.type, bytes: await file.bytes() };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request) text += String(piece);
  return text;
}
