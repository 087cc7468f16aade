import type { Connection } from "@/lib/connection";
import { type Listing, listConnections, listPrompts, listResources, type Offer } from "./offers";

/** What is known of the offers of all servers. */
export interface Offers {
  readonly list: readonly Offer[];
  /** Whether a server has not answered yet. */
  readonly isLoading: boolean;
  /** The servers that could not be asked. */
  readonly failed: readonly string[];
  /** The servers that have more than is listed. */
  readonly cut: readonly string[];
}

const freshMs = 15_000;

/** The offers of all servers, as they come in: a slow server holds nobody else's up. */
class OfferList {
  readonly #load: (connection: Connection) => Promise<Listing>;
  readonly #listeners = new Set<() => void>();
  #state: Offers = { list: [], isLoading: true, failed: [], cut: [] };
  #loadedAt = Number.NEGATIVE_INFINITY;

  constructor(load: (connection: Connection) => Promise<Listing>) {
    this.#load = load;
  }

  readonly get = (): Offers => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    if (performance.now() - this.#loadedAt > freshMs) void this.#reload();
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
    const cut: string[] = [];
    let open = connections.length;
    const settle = () =>
      this.#publish({
        list: [...found.values()].flat(),
        isLoading: open > 0,
        failed: [...failed],
        cut: [...cut],
      });
    settle();
    await Promise.all(
      connections.map(async (connection) => {
        try {
          const { offers, isCut } = await this.#load(connection);
          found.set(connection.id, [...offers]);
          if (isCut) cut.push(connection.name);
        } catch {
          found.set(connection.id, []);
          failed.push(connection.name);
        }
        open -= 1;
        settle();
      }),
    );
  }

  #publish(change: Partial<Offers>): void {
    this.#state = { ...this.#state, ...change };
    for (const listener of this.#listeners) listener();
  }
}

export const promptList = new OfferList(listPrompts);
export const resourceList = new OfferList(listResources);

/** How many offers are shown at once; whoever looks for another types more of its name. */
const SHOWN = 50;

/** What an offer is called. */
export function nameOf(offer: Offer): string {
  if (offer.kind === "prompt") return offer.prompt.name;
  const { name, title } = offer.kind === "resource" ? offer.resource : offer.template;
  if (title !== undefined && title !== "") return title;
  return name === "" ? addressOf(offer) : name;
}

/** The address of a resource, or the pattern of a template; empty for a prompt. */
export function addressOf(offer: Offer): string {
  if (offer.kind === "resource") return offer.resource.uri;
  return offer.kind === "template" ? offer.template.uriTemplate : "";
}

/** The offers that fit what was typed, those that begin with it first. */
export function matching(list: readonly Offer[], query: string): readonly Offer[] {
  const wanted = query.toLowerCase();
  const ranked = list.flatMap((offer) => {
    const title = offer.kind === "prompt" ? (offer.prompt.title ?? "") : "";
    const words = [nameOf(offer), title, addressOf(offer), offer.serverName].map((word) =>
      word.toLowerCase(),
    );
    if (words.some((word) => word.startsWith(wanted))) return [{ offer, rank: 0 }];
    return words.some((word) => word.includes(wanted)) ? [{ offer, rank: 1 }] : [];
  });
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, SHOWN)
    .map(({ offer }) => offer);
}
