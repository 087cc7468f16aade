/** Part of the message text that opens the list of prompts or resources. */
export interface Trigger {
  readonly kind: "prompt" | "resource";
  /** Text typed after the trigger character. */
  readonly query: string;
  /** Offsets of the trigger character and of the end of its word. */
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the trigger at the cursor: a slash at the start of the message opens prompts, an @ at the start of a word opens
 * resources. Inside other words, such as a path or an address, both are ordinary characters.
 */
export function findTrigger(text: string, cursor: number): Trigger | undefined {
  const before = text.slice(0, cursor);
  const rest = /^\S*/u.exec(text.slice(cursor))?.[0] ?? "";
  const end = cursor + rest.length;
  const slash = /^\/(\S*)$/u.exec(before);
  if (slash) return { kind: "prompt", query: slash[1] ?? "", start: 0, end };
  const at = /(?:^|\s)@(\S*)$/u.exec(before);
  if (!at) return undefined;
  const query = at[1] ?? "";
  return { kind: "resource", query, start: cursor - query.length - 1, end };
}

/** Returns the text without the trigger and its query. */
export function withoutTrigger(text: string, { start, end }: Trigger): string {
  return text.slice(0, start) + text.slice(end);
}
