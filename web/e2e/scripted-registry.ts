import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** Server description, as publishers send it to the registry. */
export interface Entry {
  /** Namespace in reverse DNS form, a slash, and the name. */
  name: string;
  title?: string;
  description?: string;
  websiteUrl?: string;
  repository?: { url: string; source: string };
  remotes?: object[];
  status?: "active" | "deprecated" | "deleted";
}

/** An MCP registry under test. It lists what it is given, by the registry API v0.1. */
export class ScriptedRegistry {
  entries: readonly Entry[] = [];
  /** True to refuse all requests. */
  isDown = false;
  /** Texts that were searched for; empty ones for the whole list. */
  readonly searches: string[] = [];
  readonly #server = createServer((request, response) => this.#answer(request, response));

  static async start(): Promise<ScriptedRegistry> {
    const registry = new ScriptedRegistry();
    registry.#server.listen(0, "127.0.0.1");
    await once(registry.#server, "listening");
    return registry;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname, searchParams } = new URL(request.url ?? "", this.url);
    if (this.isDown || pathname !== "/v0.1/servers" || searchParams.get("version") !== "latest") {
      response.writeHead(this.isDown ? 503 : 404).end();
      return;
    }
    const search = searchParams.get("search") ?? "";
    this.searches.push(search);
    const found = this.entries.filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()));
    const start = Number(searchParams.get("cursor") ?? 0);
    const page = found.slice(start, start + Number(searchParams.get("limit") ?? 30));
    const end = start + page.length;
    response.writeHead(200, { "content-type": "application/json" });
    response.end(
      JSON.stringify({
        servers: page.map(published),
        metadata: { ...(end < found.length && { nextCursor: String(end) }), count: page.length },
      }),
    );
  }
}

/** Returns an entry with what the registry itself knows of it. */
function published({ status = "active", description = "A server.", ...server }: Entry): object {
  const at = "2026-05-01T10:00:00Z";
  return {
    server: { description, version: "1.0.0", ...server },
    _meta: {
      "io.modelcontextprotocol.registry/official": {
        status,
        publishedAt: at,
        updatedAt: at,
        isLatest: true,
      },
    },
  };
}
