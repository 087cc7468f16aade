import { callApi, jsonBody } from "@/lib/api-client";
import type { ToolApproval } from "@/components/approval/definition";
import { type JsonObject, stringifyJson } from "@/lib/json";

/** Page of an MCP app, with its permissions. */
export interface AppPage {
  readonly tool: JsonObject;
  readonly html: string;
  /** URL of the sandbox that shows it. */
  readonly frame: string;
  /** Origins that it may access, by CSP directive. */
  readonly csp: Readonly<Record<string, readonly string[]>>;
  /** Browser features that it requests, as MCP Apps names them. */
  readonly permissions: Readonly<Record<string, object>>;
}

/** Tool call of an app that the user has to approve. */
export interface AppApprovalRequest extends ToolApproval {
  /** Hash of the definition that the user sees. */
  readonly pin: string;
}

/** The user's decision about a tool call. */
export interface AppConsent {
  readonly decision: "once" | "always" | "deny";
  readonly pin: string;
}

/** Result of a call in MCP's format, or a request for approval. */
export type AppAnswer = { readonly result: JsonObject } | { readonly ask: AppApprovalRequest };

/**
 * Loads the app of a tool.
 * @throws {ApiError} if there is none, or none that can be shown
 */
export function openApp(serverName: string, tool: string): Promise<AppPage> {
  return callApi("/api/apps/open", jsonBody({ serverName, tool }));
}

/**
 * Calls a tool for an app of the same server.
 * @throws {ApiError} if the tool is not for apps, is not allowed, or could not be called
 */
export function callForApp(
  serverName: string,
  call: { name: string; arguments: unknown },
  consent: AppConsent | undefined,
  signal: AbortSignal,
): Promise<AppAnswer> {
  const body = { serverName, ...call, ...(consent && { consent }) };
  return callApi("/api/apps/call", { ...jsonBody(body, stringifyJson), signal });
}

/**
 * Reads a resource for an app of the same server.
 * @throws {ApiError} if the server has none, or it is too large
 */
export function readForApp(
  serverName: string,
  uri: string,
  signal: AbortSignal,
): Promise<{ contents: JsonObject[] }> {
  return callApi("/api/apps/read", { ...jsonBody({ serverName, uri }), signal });
}
