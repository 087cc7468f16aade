import { callApi, jsonBody } from "@/lib/api-client";
import type { ToolApproval } from "@/components/approval/definition";
import { type JsonObject, stringifyJson } from "@/lib/json";

/** The page of a tool, and what it may do. */
export interface AppPage {
  readonly tool: JsonObject;
  readonly html: string;
  /** The address of the sandbox that it is shown in. */
  readonly frame: string;
  /** The places that it may reach, by kind. */
  readonly csp: Readonly<Record<string, readonly string[]>>;
  /** What of the browser it asks for, by the protocol's words. */
  readonly permissions: Readonly<Record<string, object>>;
}

/** A tool that the person is to be asked about before it runs. */
export interface AppApprovalRequest extends ToolApproval {
  /** Names what they see. */
  readonly pin: string;
}

/** What the person said to it. */
export interface AppConsent {
  readonly decision: "once" | "always" | "deny";
  readonly pin: string;
}

/** What came of a call: a result in the protocol's own shape, or a question. */
export type AppAnswer = { readonly result: JsonObject } | { readonly ask: AppApprovalRequest };

/** Reads the page of a tool.
 * @throws {ApiError} when there is none, or none that can be shown */
export function openApp(serverName: string, tool: string): Promise<AppPage> {
  return callApi("/api/apps/open", jsonBody({ serverName, tool }));
}

/** Calls a tool for an app of the same server.
 * @throws {ApiError} when the tool is not for apps, is not allowed, or could not be called */
export function callForApp(
  serverName: string,
  call: { name: string; arguments: unknown },
  consent: AppConsent | undefined,
  signal: AbortSignal,
): Promise<AppAnswer> {
  const body = { serverName, ...call, ...(consent && { consent }) };
  return callApi("/api/apps/call", { ...jsonBody(body, stringifyJson), signal });
}

/** Reads a resource for an app of the same server.
 * @throws {ApiError} when the server has none, or it is too large */
export function readForApp(
  serverName: string,
  uri: string,
  signal: AbortSignal,
): Promise<{ contents: JsonObject[] }> {
  return callApi("/api/apps/read", { ...jsonBody({ serverName, uri }), signal });
}
