import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";

/** A tool of a scripted server. */
export interface ScriptedTool {
  name: string;
  description?: string;
  inputSchema?: object;
  annotations?: object;
  /** It is called as a task, which says this of itself as long as it runs. */
  task?: { message: string };
  /** Metadata, with the link to the tool's app. */
  meta?: object;
  icons?: object[];
  /** Returns the text of the result; may be slow or throw. */
  run?: (args: Record<string, unknown>) => Promise<string> | string;
  /** Returns the raw response of the protocol instead of `run`. */
  answer?: (params: CallParams) => { result: object } | { error: object };
}

/** Parameters of a tool call. */
export interface CallParams {
  name?: string;
  arguments?: Record<string, unknown>;
  inputResponses?: Record<string, { action: string; content?: Record<string, unknown> }>;
  requestState?: string;
}

/** Description that a scripted server sends to its clients. */
export interface About {
  instructions?: string;
  /** Of the revision that shakes no hands. */
  modern?: boolean;
  /** Number of prompts; none by default. */
  prompts?: number;
  icons?: object[];
}

/** Further behavior of a scripted server. */
export interface Site {
  /** It is at `https://localhost`, and shows this to be trusted. */
  tls?: { key: Buffer; cert: Buffer };
  /** The only `Authorization` header that it accepts. */
  authorization?: string;
  /** Handles requests other than those of the protocol. */
  onVisit?: (request: IncomingMessage, response: ServerResponse) => void;
}

interface RpcRequest {
  id?: number | string;
  method: string;
  params?: CallParams & { protocolVersion?: string; taskId?: string; uri?: string };
}

/** A call that runs as a task. */
interface RunningTask {
  tool: ScriptedTool;
  status: "working" | "completed" | "cancelled";
  answer?: object;
}

/** A server under test by its address; it ends with `stop`. */
export interface Served {
  url: string;
  stop: () => void;
}

/** A page that a server brings for its tools. */
export interface ScriptedApp {
  uri: string;
  html: string;
  mimeType?: string;
  /** Requested UI metadata: `_meta.ui`. */
  ui?: object;
}

/** The smallest MCP server over streamable HTTP: it has tools, perhaps with apps, and that is all. */
export async function serveTools(
  tools: ScriptedTool[],
  about: About = {},
  apps: ScriptedApp[] = [],
  { tls, authorization, onVisit }: Site = {},
): Promise<Served> {
  const tasks = new Map<string, RunningTask>();
  return serve(async (request, response) => {
    if (request.method !== "POST") {
      if (onVisit && request.url !== "/mcp") onVisit(request, response);
      else response.writeHead(405).end();
      return;
    }
    if (authorization !== undefined && request.headers.authorization !== authorization) {
      response.writeHead(403).end();
      return;
    }
    const rpc = JSON.parse(await textOf(request)) as RpcRequest;
    if (rpc.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const answer = taskAnswer(rpc, tools, tasks) ?? (await answerTo(rpc, tools, about, apps));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id: rpc.id, ...answer }));
  }, tls);
}

/** A web site, which is no MCP server, and the paths that were asked for. */
export async function serveWebSite(): Promise<Served & { visits: string[] }> {
  const visits: string[] = [];
  const served = await serve((request, response) => {
    visits.push(request.url ?? "");
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Shop</title>");
  });
  return { ...served, visits };
}

/** An address at which nothing listens. */
export async function deadAddress(): Promise<string> {
  const server = await serve(() => undefined);
  server.stop();
  return server.url;
}

/** Returns the response to a request about tasks; undefined for any other. */
function taskAnswer(
  rpc: RpcRequest,
  tools: ScriptedTool[],
  tasks: Map<string, RunningTask>,
): object | undefined {
  const { method, params } = rpc;
  const tool = tools.find(({ name, task }) => method === "tools/call" && name === params?.name && task);
  if (tool) {
    const running: RunningTask = { tool, status: "working" };
    const id = crypto.randomUUID();
    tasks.set(id, running);
    void answerTo(rpc, tools).then((answer) => {
      if (running.status === "working") Object.assign(running, { status: "completed", answer });
    });
    return { result: { task: stateOf(id, running) } };
  }
  if (!method.startsWith("tasks/")) return undefined;
  const id = params?.taskId ?? "";
  const task = tasks.get(id);
  if (!task) return { error: { code: -32602, message: "Task not found" } };
  if (method === "tasks/cancel") task.status = "cancelled";
  return method === "tasks/result" ? task.answer : { result: stateOf(id, task) };
}

function stateOf(taskId: string, { tool, status }: RunningTask): object {
  const at = "2026-11-21T10:00:00Z";
  const times = { createdAt: at, lastUpdatedAt: at, ttl: 3_600_000, pollInterval: 250 };
  return { taskId, status, statusMessage: tool.task?.message, ...times };
}

async function answerTo(
  { method, params }: RpcRequest,
  tools: ScriptedTool[],
  about: About = {},
  apps: ScriptedApp[] = [],
): Promise<object> {
  if (about.modern && method === "server/discover") {
    const kept = { ttlMs: 0, cacheScope: "private", resultType: "complete" };
    const capabilities = { tools: {}, ...(about.prompts !== undefined && { prompts: {} }) };
    return { result: { supportedVersions: ["2026-07-28"], capabilities, ...kept } };
  }
  if (about.prompts !== undefined && method === "prompts/list") {
    const prompts = Array.from({ length: about.prompts }, (_, n) => ({ name: `prompt-${n}` }));
    return { result: { resultType: "complete", ttlMs: 0, cacheScope: "private", prompts } };
  }
  if (about.prompts !== undefined && method === "prompts/get") {
    const content = { type: "text", text: `Text of ${params?.name}.` };
    return { result: { resultType: "complete", messages: [{ role: "user", content }] } };
  }
  if (!about.modern && method === "initialize") {
    const { icons, ...more } = about;
    const serverInfo = { name: "scripted", version: "1.0.0", ...(icons && { icons }) };
    const protocolVersion = params?.protocolVersion ?? "2025-06-18";
    const capabilities = {
      tools: {},
      resources: {},
      tasks: { cancel: {}, requests: { tools: { call: {} } } },
    };
    return { result: { protocolVersion, capabilities, serverInfo, ...more } };
  }
  if (method === "ping") return { result: {} };
  if (method === "tools/list") {
    return {
      result: {
        ...(about.modern && { resultType: "complete" }),
        tools: tools.map(
          ({ name, description = "", inputSchema = { type: "object" }, annotations, meta, task, icons }) => ({
            name,
            description,
            inputSchema,
            ...(annotations && { annotations }),
            ...(task && { execution: { taskSupport: "required" } }),
            ...(meta && { _meta: meta }),
            ...(icons && { icons }),
          }),
        ),
      },
    };
  }
  const app = apps.find(({ uri }) => method === "resources/read" && uri === params?.uri);
  if (app) {
    const { uri, html, mimeType = "text/html;profile=mcp-app", ui } = app;
    return { result: { contents: [{ uri, mimeType, text: html, ...(ui && { _meta: { ui } }) }] } };
  }
  const tool = tools.find(({ name }) => method === "tools/call" && name === params?.name);
  if (tool?.answer) return tool.answer(params ?? {});
  if (!tool) return { error: { code: -32601, message: "Method not found" } };
  try {
    const text = (await tool.run?.(params?.arguments ?? {})) ?? "done";
    return { result: { content: [{ type: "text", text }] } };
  } catch (error) {
    return { result: { content: [{ type: "text", text: String(error) }], isError: true } };
  }
}

async function serve(
  handler: (request: IncomingMessage, response: ServerResponse) => Promise<void> | void,
  tls?: Site["tls"],
): Promise<Served> {
  const answer = (request: IncomingMessage, response: ServerResponse) => void handler(request, response);
  const server = tls ? createTlsServer(tls, answer) : createServer(answer);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: tls ? `https://localhost:${port}/mcp` : `http://127.0.0.1:${port}/mcp`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request) text += String(piece);
  return text;
}
