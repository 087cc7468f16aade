import { queryOptions } from "@tanstack/react-query";
import { callApi, jsonBody } from "@/lib/api-client";
import type { Connection, Icon } from "@/lib/connection";
import type { AttachmentContent, DraftMcpAttachment } from "../composer/attachments";
import { temporaryChats } from "../composer/draft";

/** Argument of a {@link Prompt}; its value is always text. */
interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
}

/** Message template of an MCP server. */
interface Prompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments: readonly PromptArgument[];
  readonly icons?: readonly Icon[];
}

/** Text or file that an MCP server publishes. */
interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly icons?: readonly Icon[];
}

/** Pattern for the URIs of resources, with variables to fill in. */
interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
}

/** Item that can be attached to a message, with the server it comes from. */
export type PromptOrResource = { readonly connectionId: string; readonly serverName: string } & (
  | { readonly kind: "prompt"; readonly prompt: Prompt }
  | { readonly kind: "resource"; readonly resource: Resource }
  | { readonly kind: "template"; readonly template: ResourceTemplate }
);

/** Prompt or template whose argument or variable is being filled in. */
export type CompletionTarget = { readonly prompt: string } | { readonly template: string };

/** Request to read a resource or fill in a prompt, and to store it for a message. */
export type AttachRequest =
  | { readonly prompt: { name: string; title?: string; arguments: Record<string, string> } }
  | { readonly resource: { uri: string; name: string; title?: string } };

const connectionPath = (connectionId: string) => `/api/connections/${encodeURIComponent(connectionId)}`;

export async function listConnections(): Promise<readonly Connection[]> {
  return (await callApi<{ connections: Connection[] }>("/api/connections")).connections;
}

/** Prompts or resources of one server. */
export interface Listing {
  readonly items: readonly PromptOrResource[];
  /** True if the server has more items than are listed. */
  readonly isCut: boolean;
}

export async function listPrompts({ id, name }: Connection): Promise<Listing> {
  const path = `${connectionPath(id)}/prompts`;
  const { prompts, isCut } = await callApi<{ prompts: Prompt[]; isCut: boolean }>(path);
  const origin = { connectionId: id, serverName: name };
  return { items: prompts.map((prompt) => ({ kind: "prompt", ...origin, prompt })), isCut };
}

export async function listResources({ id, name }: Connection): Promise<Listing> {
  const origin = { connectionId: id, serverName: name };
  const found = await callApi<{ resources: Resource[]; templates: ResourceTemplate[]; isCut: boolean }>(
    `${connectionPath(id)}/resources`,
  );
  const items = [
    ...found.resources.map((resource): PromptOrResource => ({ kind: "resource", ...origin, resource })),
    ...found.templates.map((template): PromptOrResource => ({ kind: "template", ...origin, template })),
  ];
  return { items, isCut: found.isCut };
}

/** Returns the query for the server's suggestions for a value that begins with `value`. */
export function suggestionsQuery(
  connectionId: string,
  target: CompletionTarget,
  name: string,
  value: string,
  filled: Record<string, string>,
) {
  const question = { for: target, name, value, filled };
  return queryOptions({
    queryKey: ["completion", connectionId, question],
    queryFn: async () => {
      const path = `${connectionPath(connectionId)}/completion`;
      return (await callApi<{ values: readonly string[] }>(path, jsonBody(question))).values;
    },
  });
}

/**
 * Reads a resource or fills in a prompt, and stores the result for a message.
 * @throws {ApiError} if the server does not have it, fails, or returns too much
 */
export async function createAttachment(
  connectionId: string,
  request: AttachRequest,
): Promise<DraftMcpAttachment> {
  const { id, serverName, name, title, ...content } = await callApi<AttachmentContent>(
    `${connectionPath(connectionId)}/attachments`,
    // Attachments of a temporary chat are as temporary as the chat.
    jsonBody({ ...request, sessionId: [...temporaryChats][0] }),
  );
  const shown = { id, connectionId, serverName, name, ...(title !== undefined && { title }) };
  if (content.kind === "prompt") return { ...shown, kind: "prompt" };
  return { ...shown, kind: "resource", uri: content.uri };
}

/** Returns the query for an attachment with the content that it had when it was attached. */
export function attachmentQuery(id: string) {
  return queryOptions({
    queryKey: ["attachment", id],
    queryFn: () => callApi<AttachmentContent>(`/api/attachments/${encodeURIComponent(id)}`),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Asks the server to report changes of a resource for the next 15 minutes. */
export async function watchResource(connectionId: string, uri: string): Promise<void> {
  await callApi(`${connectionPath(connectionId)}/resources/watch`, jsonBody({ uri }));
}

export async function unwatchResource(connectionId: string, uri: string): Promise<void> {
  await callApi(`${connectionPath(connectionId)}/resources/watch?uri=${encodeURIComponent(uri)}`, {
    method: "DELETE",
  });
}
