/** What is typed into the connection form. */
export interface ConnectDraft {
  name: string;
  url: string;
  /** A key that is sent as bearer token. */
  key: string;
  headers: readonly HeaderDraft[];
}

export interface HeaderDraft {
  id: number;
  name: string;
  value: string;
}

export const emptyDraft: ConnectDraft = { name: "", url: "", key: "", headers: [] };

/** Whether both of what a connection needs are there. */
export function isComplete(draft: ConnectDraft): boolean {
  return draft.name.trim() !== "" && draft.url.trim() !== "";
}

/** The headers to send with every request to the server; undefined when there are none. */
export function headersOf(draft: ConnectDraft): Record<string, string> | undefined {
  const named = draft.headers
    .map(({ name, value }) => [name.trim(), value.trim()] as const)
    .filter(([name]) => name !== "");
  const key = draft.key.trim();
  const all = key === "" ? named : [["Authorization", `Bearer ${key}`] as const, ...named];
  return all.length === 0 ? undefined : Object.fromEntries(all);
}
