import type { Connection } from "@/lib/connection";
import { listConnections, type Listing, listPrompts, listResources, type PromptOrResource } from "./queries";

/** Prompts or resources of all servers, as far as they are loaded. */
interface PromptsAndResources {
  readonly list: readonly PromptOrResource[];
  /** True if a server has not answered yet. */
  readonly isLoading: boolean;
  /** Names of the servers whose listing failed. */
  readonly failed: readonly string[];
  /** Names of the servers that have more items than are listed. */
  readonly truncated: readonly string[];
}

const LIST_FRESH_MS = 15_000;

/**
 * Prompts or resources of all servers. Each server's items appear when it answers, so that a slow server delays no
 * other.
 */
class McpContextList {
  readonly #load: (connection: Connection) => Promise<Listing>;
  readonly #listeners = new Set<() => void>();
  #state: PromptsAndResources = { list: [], isLoading: true, failed: [], truncated: [] };
  #loadedAt = Number.NEGATIVE_INFINITY;

  constructor(load: (connection: Connection) => Promise<Listing>) {
    this.#load = load;
  }

  readonly get = (): PromptsAndResources => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (performance.now() - this.#loadedAt > LIST_FRESH_MS) void this.#reload();
    return () => this.#listeners.delete(listener);
  };

  async #reload(): Promise<void> {
    this.#loadedAt = performance.now();
    let connections: readonly Connection[];
    try {
      connections = await listConnections();
    } catch (error) {
      console.error("Loading failed:", "connections", error);
      this.#loadedAt = Number.NEGATIVE_INFINITY;
      this.#publish({ isLoading: false });
      return;
    }
    const known = (id: string) => this.#state.list.filter(({ connectionId }) => connectionId === id);
    const found = new Map(connections.map(({ id }) => [id, known(id)]));
    const failed: string[] = [];
    const truncated: string[] = [];
    let open = connections.length;
    const settle = () =>
      this.#publish({
        list: [...found.values()].flat(),
        isLoading: open > 0,
        failed: [...failed],
        truncated: [...truncated],
      });
    settle();
    await Promise.all(
      connections.map(async (connection) => {
        try {
          const { items, isCut } = await this.#load(connection);
          found.set(connection.id, [...items]);
          if (isCut) truncated.push(connection.name);
        } catch {
          found.set(connection.id, []);
          failed.push(connection.name);
        }
        open -= 1;
        settle();
      }),
    );
  }

  #publish(change: Partial<PromptsAndResources>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

export const promptList = new McpContextList(listPrompts);
export const resourceList = new McpContextList(listResources);

/** Number of items shown at once; typing narrows them down. */
const MAX_LISTED_ITEMS = 50;

/** Returns the title of an item, else its name, else its address. */
export function displayNameOf(item: PromptOrResource): string {
  if (item.kind === "prompt") return item.prompt.name;
  const { name, title } = item.kind === "resource" ? item.resource : item.template;
  if (title !== undefined && title !== "") return title;
  return name === "" ? uriOf(item) : name;
}

/** Returns the URI of a resource or the pattern of a template; empty for a prompt. */
export function uriOf(item: PromptOrResource): string {
  if (item.kind === "resource") return item.resource.uri;
  return item.kind === "template" ? item.template.uriTemplate : "";
}

/** Returns the items that match the typed text, those that begin with it first. */
export function findMatches(list: readonly PromptOrResource[], query: string): readonly PromptOrResource[] {
  const wanted = query.toLowerCase();
  const ranked = list.flatMap((item) => {
    const title = item.kind === "prompt" ? (item.prompt.title ?? "") : "";
    const words = [displayNameOf(item), title, uriOf(item), item.serverName].map((word) =>
      word.toLowerCase(),
    );
    if (words.some((word) => word.startsWith(wanted))) return [{ item, rank: 0 }];
    return words.some((word) => word.includes(wanted)) ? [{ item, rank: 1 }] : [];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MAX_LISTED_ITEMS)
    .map(({ item }) => item);
}
