import { callApi, jsonBody } from "@/lib/api-client";
import type { Connection } from "@/lib/connection";
import { temporaryChats } from "@/lib/temporary-chats";
import type { Icon } from "@/lib/icon";
import type { AttachmentContent, DraftOffer } from "../composer/attachments";

/** Something that a prompt takes; all of it is text. */
export interface PromptArgument {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly required: boolean;
}

/** Messages that a server has ready. */
export interface Prompt {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments: readonly PromptArgument[];
  readonly icons?: readonly Icon[];
}

/** A text or a file that a server has. */
export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
  readonly icons?: readonly Icon[];
}

/** Resources that are named by filling in a pattern. */
export interface ResourceTemplate {
  readonly uriTemplate: string;
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly icons?: readonly Icon[];
}

/** Something that can be put into a message, and whose it is. */
export type Offer = { readonly connectionId: string; readonly serverName: string } & (
  | { readonly kind: "prompt"; readonly prompt: Prompt }
  | { readonly kind: "resource"; readonly resource: Resource }
  | { readonly kind: "template"; readonly template: ResourceTemplate }
);

/** What is filled in: an argument of a prompt, or a variable of a template. */
export type Blank = { readonly prompt: string } | { readonly template: string };

/** What is wanted of a server for a message. */
export type Wish =
  | { readonly prompt: { name: string; title?: string; arguments: Record<string, string> } }
  | { readonly resource: { uri: string; name: string; title?: string } };

const pathOf = (connectionId: string) => `/api/connections/${encodeURIComponent(connectionId)}`;

export async function listConnections(): Promise<readonly Connection[]> {
  return (await callApi<{ connections: Connection[] }>("/api/connections")).connections;
}

/** What a server offers of one kind. */
export interface Listing {
  readonly offers: readonly Offer[];
  /** The server has more than is read of it. */
  readonly isCut: boolean;
}

export async function listPrompts({ id, name }: Connection): Promise<Listing> {
  const path = `${pathOf(id)}/prompts`;
  const { prompts, isCut } = await callApi<{ prompts: Prompt[]; isCut: boolean }>(path);
  const whose = { connectionId: id, serverName: name };
  return { offers: prompts.map((prompt) => ({ kind: "prompt", ...whose, prompt })), isCut };
}

export async function listResources({ id, name }: Connection): Promise<Listing> {
  const whose = { connectionId: id, serverName: name };
  const found = await callApi<{ resources: Resource[]; templates: ResourceTemplate[]; isCut: boolean }>(
    `${pathOf(id)}/resources`,
  );
  const offers = [
    ...found.resources.map((resource): Offer => ({ kind: "resource", ...whose, resource })),
    ...found.templates.map((template): Offer => ({ kind: "template", ...whose, template })),
  ];
  return { offers, isCut: found.isCut };
}

/** Proposals for what begins with `value`. */
export async function complete(
  connectionId: string,
  blank: Blank,
  name: string,
  value: string,
  filled: Record<string, string>,
): Promise<readonly string[]> {
  const body = jsonBody({ for: blank, name, value, filled });
  return (await callApi<{ values: string[] }>(`${pathOf(connectionId)}/completion`, body)).values;
}

/** Has a resource read or a prompt filled in, and kept for a message.
 * @throws {ApiError} when the server does not have it, fails, or gives too much */
export async function attach(connectionId: string, wish: Wish): Promise<DraftOffer> {
  const { id, serverName, name, title, ...content } = await callApi<AttachmentContent>(
    `${pathOf(connectionId)}/attachments`,
    // What is attached to a chat that is not kept is not kept either.
    jsonBody({ ...wish, sessionId: [...temporaryChats][0] }),
  );
  const shown = { id, connectionId, serverName, name, ...(title !== undefined && { title }) };
  if (content.kind === "prompt") return { ...shown, kind: "prompt" };
  return { ...shown, kind: "resource", uri: content.uri };
}

/** What is attached, as it was then. */
export function loadAttachment(id: string): Promise<AttachmentContent> {
  return callApi<AttachmentContent>(`/api/attachments/${encodeURIComponent(id)}`);
}

/** Has the server tell for a while when a resource changes. */
export async function watchResource(connectionId: string, uri: string): Promise<void> {
  await callApi(`${pathOf(connectionId)}/resources/watch`, jsonBody({ uri }));
}

export async function unwatchResource(connectionId: string, uri: string): Promise<void> {
  await callApi(`${pathOf(connectionId)}/resources/watch?uri=${encodeURIComponent(uri)}`, {
    method: "DELETE",
  });
}
