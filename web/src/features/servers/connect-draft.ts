/** Content of the connection form. */
export interface ConnectDraft {
  name: string;
  url: string;
  /** Key that is sent as a bearer token. */
  key: string;
  headers: readonly HeaderDraft[];
}

export interface HeaderDraft {
  id: number;
  name: string;
  value: string;
}

export const emptyDraft: ConnectDraft = { name: "", url: "", key: "", headers: [] };

/** Returns true if name and URL are entered. */
export function isComplete(draft: ConnectDraft): boolean {
  return draft.name.trim() !== "" && draft.url.trim() !== "";
}

/** Returns the headers for every request to the server; undefined if there are none. */
export function headersOf(draft: ConnectDraft): Record<string, string> | undefined {
  const named = draft.headers
    .map(({ name, value }) => [name.trim(), value.trim()] as const)
    .filter(([name]) => name !== "");
  const key = draft.key.trim();
  const all = key === "" ? named : [["Authorization", `Bearer ${key}`] as const, ...named];
  return all.length === 0 ? undefined : Object.fromEntries(all);
}
