import { callApi, jsonBody } from "./api-client";
import { publicApiKey } from "./session";

type Table = "ai_chat_messages" | "ai_chat_sessions" | "mcp_servers";

/** Conditions and order in PostgREST's syntax: `{ id: "eq.7", order: "created_at.desc" }`. */
type Query = Readonly<Record<string, string>>;

const headers = { apikey: publicApiKey };

/** Requests a single row instead of a list; none is an error. */
const one = { ...headers, accept: "application/vnd.pgrst.object+json" };

/**
 * Returns the rows of a table that match `query`.
 * @throws {ApiError} if the server refuses, fails or is unreachable; the functions below throw likewise
 */
export function readRows<Row>(table: Table, query: Query): Promise<readonly Row[]> {
  return callApi(pathOf(table, { select: "*", ...query }), { headers });
}

export function readRow<Row>(table: Table, query: Query): Promise<Row> {
  return callApi(pathOf(table, { select: "*", ...query }), { headers: one });
}

/** Inserts a row and returns `columns` of it. */
export function insertRow<Row>(table: Table, row: object, columns = "*"): Promise<Row> {
  const request = jsonBody(row);
  return callApi(pathOf(table, { select: columns }), {
    ...request,
    headers: { ...one, ...request.headers, prefer: "return=representation" },
  });
}

export function updateRows(table: Table, query: Query, values: object): Promise<void> {
  const request = jsonBody(values);
  return callApi(pathOf(table, query), {
    ...request,
    method: "PATCH",
    headers: { ...headers, ...request.headers, prefer: "return=minimal" },
  });
}

export function deleteRows(table: Table, query: Query): Promise<void> {
  return callApi(pathOf(table, query), {
    method: "DELETE",
    headers: { ...headers, prefer: "return=minimal" },
  });
}

function pathOf(table: Table, query: Query): string {
  return `/rest/v1/${table}?${new URLSearchParams(query)}`;
}
