import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

interface Rpc {
  id?: number | string;
  method: string;
  params?: { name?: string; _meta?: { progressToken?: string | number } };
}

/** Behavior of a stateful server's tool: it may report progress, and returns the result. */
export type ToolBehavior = (report: (report: object) => void) => Promise<object> | object;

/** An MCP server with sessions that lives through something while it is looked at: changes, failures, slow calls. */
export class StatefulServer {
  tools: object[];
  acts: Record<string, ToolBehavior> = {};
  /** True to answer everything with 503. */
  down = false;
  /** True if it can list its tools. */
  lists = true;
  /** The headers of the last request. */
  headers: IncomingMessage["headers"] = {};
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #listeners = new Set<ServerResponse>();

  private constructor(tools: object[]) {
    this.tools = tools;
  }

  static async start(tools: object[]): Promise<StatefulServer> {
    const server = new StatefulServer(tools);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /** From now on it has these tools, and says so to those who listen. */
  announce(tools: object[]): void {
    this.tools = tools;
    for (const listener of this.#listeners) send(listener, { method: "notifications/tools/list_changed" });
  }

  /** Number of listeners for changes. */
  get listeners(): number {
    return this.#listeners.size;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.down) {
      response.writeHead(503).end();
      return;
    }
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
      this.#listeners.add(response);
      response.on("close", () => this.#listeners.delete(response));
      return;
    }
    if (request.method !== "POST") {
      response.writeHead(200).end();
      return;
    }
    this.headers = request.headers;
    const rpc = JSON.parse(await textOf(request)) as Rpc;
    if (rpc.id === undefined) {
      response.writeHead(202).end();
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream", "mcp-session-id": "one" });
    const { _meta: meta } = rpc.params ?? {};
    const report = (params: object) =>
      send(response, {
        method: "notifications/progress",
        params: { progressToken: meta?.progressToken, ...params },
      });
    send(response, { id: rpc.id, ...(await this.#outcome(rpc, report)) });
    response.end();
  }

  async #outcome({ method, params }: Rpc, report: (report: object) => void): Promise<object> {
    if (method === "initialize") {
      return {
        result: {
          protocolVersion: "2025-11-25",
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: "stateful", version: "2.1.0" },
          instructions: "Ask before you send anything.\nUse small words.",
        },
      };
    }
    if (method === "ping") return { result: {} };
    if (method === "tools/list" && this.lists) return { result: { tools: this.tools } };
    const act = method === "tools/call" ? this.acts[params?.name ?? ""] : undefined;
    if (!act) return { error: { code: -32601, message: "Method not found" } };
    return { result: await act(report) };
  }
}

function send(response: ServerResponse, message: object): void {
  response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  request.setEncoding("utf8");
  for await (const piece of request) text += String(piece);
  return text;
}
