/** A place in the text being written where something of a server can be put in. */
export interface Trigger {
  readonly kind: "prompt" | "resource";
  /** What was typed behind the sign. */
  readonly query: string;
  /** Where the sign stands, and where the word behind it ends. */
  readonly start: number;
  readonly end: number;
}

/**
 * What is being asked for at the cursor: a prompt by a slash that begins the message, a resource by an @ that begins a
 * word. A slash or an @ inside other words (a path, an address) is only a sign.
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

/** The text without what was typed to find something, and where the cursor then is. */
export function withoutTrigger(text: string, { start, end }: Trigger): string {
  return text.slice(0, start) + text.slice(end);
}
