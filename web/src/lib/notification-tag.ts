import type { TurnEvent } from "./events";

/** Returns the tag of a notification about a turn: the same in all tabs and in the push message, so that one is shown. */
export function tagOf({ turnId, state }: Pick<TurnEvent, "turnId" | "state">): string {
  return `${turnId}:${state}`;
}
