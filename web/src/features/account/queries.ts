import type { PasskeyListItem, User } from "@supabase/auth-js";
import { queryOptions } from "@tanstack/react-query";
import type { ModelSettings } from "@/components/model-settings/settings";
import { callApi, jsonBody } from "@/lib/api-client";
import { t } from "@/lib/later-texts";
import { readPushState } from "@/lib/notifications";
import { type Download, fetchFile } from "@/lib/save-file";
import { auth, readSession } from "@/lib/session";
import type { UsageReport } from "./models/usage";

/**
 * Returns the query for the user as the server knows them. Changes from another browser reach the session here, and
 * with it the header.
 */
export function accountQuery(userId: string) {
  return queryOptions({
    queryKey: ["account", userId],
    queryFn: async (): Promise<User> => {
      const { data, error } = await auth.getUser();
      if (error !== null) throw error;
      const session = readSession();
      if ("user" in session && session.user.email !== data.user.email) await auth.refreshSession();
      return data.user;
    },
  });
}

/** Session of the user in a browser or client. */
export interface Device {
  id: string;
  /** True if this request came from it. */
  current: boolean;
  userAgent: string | null;
  createdAt: string;
  /** Rounded to five minutes. */
  lastUsedAt: string;
}

/** Returns the query for the user's sessions, last used first. */
export function devicesQuery(userId: string) {
  return queryOptions({
    queryKey: ["devices", userId],
    queryFn: async () => (await callApi<{ devices: Device[] }>("/api/account/devices")).devices,
  });
}

/** What happened to the account. */
export interface AccountEvent {
  id: string;
  kind: string;
  actor: "user" | "admin" | "system";
  clientAddress: string | null;
  userAgent: string | null;
  createdAt: string;
}

/** Number of events in a response, as on the server. */
export const EVENTS_PER_PAGE = 50;

/** Returns the query for the newest events of the account. */
export function accountEventsQuery(userId: string) {
  return queryOptions({
    queryKey: ["account-events", userId],
    queryFn: () => loadAccountEvents(""),
    staleTime: 0,
  });
}

/** Loads the events before another; the newest for an empty id. */
export async function loadAccountEvents(before: string): Promise<AccountEvent[]> {
  return (await callApi<{ events: AccountEvent[] }>(`/api/account/events?before=${before}`)).events;
}

/** Returns the query for the user's passkeys, oldest first. */
export function passkeysQuery(userId: string) {
  return queryOptions({
    queryKey: ["passkeys", userId],
    queryFn: async (): Promise<PasskeyListItem[]> => {
      const { data, error } = await auth.passkey.list();
      if (error !== null) throw error;
      return data;
    },
  });
}

/** Returns the query for the server's push key and the devices that receive push messages. */
export function pushQuery(userId: string) {
  return queryOptions({ queryKey: ["push", userId], queryFn: readPushState, staleTime: 0 });
}

/** Signs out a device. */
export async function endDevice(id: string): Promise<void> {
  await callApi(`/api/account/devices/${encodeURIComponent(id)}`, { method: "DELETE" });
}

/** Deletes the account and all of its data. */
export async function deleteAccount(email: string): Promise<void> {
  await callApi("/api/account/delete", jsonBody({ email }));
}

/**
 * Exports all data of the user as one file.
 * @throws {ApiError} if the server refuses or the file is incomplete
 */
export function exportAccount(): Promise<Download> {
  return fetchFile("/api/account/export");
}

/** Tool call in the log. */
export interface Call {
  id: string;
  at: string;
  serverName: string;
  tool: string;
  allowedBy: "default" | "rule" | "once" | "always" | "form" | "nobody";
  outcome: "done" | "error" | "unknown" | "stopped" | "denied";
}

/** Page of the log, newest first, with the cursor of the next page. */
export interface CallPage {
  calls: readonly Call[];
  next: string | null;
}

const CALLS_PER_PAGE = 20;

/** Returns the query for the user's newest tool calls. */
export function callsQuery(userId: string) {
  return queryOptions({ queryKey: ["tool-calls", userId], queryFn: () => loadCalls(""), staleTime: 0 });
}

/** Loads the tool calls before a cursor; the newest for an empty one. */
export function loadCalls(before: string): Promise<CallPage> {
  return callApi<CallPage>(`/api/tools/audit?limit=${CALLS_PER_PAGE}&before=${before}`);
}

/** Result of an import. */
export interface Imported {
  /** Number of new chats. */
  imported: number;
  /** Number of chats that existed already. */
  skipped: number;
}

/**
 * Imports the chats of a file: an export of this app, or ChatGPT's list of conversations.
 * @throws {Error} if it is neither, with a message for the user
 */
export async function importChats(file: Blob): Promise<Imported> {
  const first = (await file.slice(0, 64).text()).trimStart().slice(0, 1);
  if (first !== "{" && first !== "[") throw new Error(t("account.import.notJson"));
  // The server accepts objects only; ChatGPT's file is a list.
  const body = first === "[" ? new Blob(['{"conversations":', file, "}"]) : file;
  return callApi("/api/account/import", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body,
  });
}

export const kinds = ["openai", "anthropic", "gemini", "ollama", "compatible"] as const;

/** API of a provider. */
export type Kind = (typeof kinds)[number];

/** Default base URL of each API. */
export const usualAddress: Readonly<Record<Kind, string | undefined>> = {
  openai: "https://api.openai.com/v1",
  anthropic: "https://api.anthropic.com",
  gemini: "https://generativelanguage.googleapis.com",
  ollama: "http://127.0.0.1:11434",
  compatible: undefined,
};

/** Model provider of one user. The server never returns its key. */
export interface ModelProvider {
  id: string;
  /** Prefix of its models' names. */
  prefix: string;
  name: string;
  kind: Kind;
  baseUrl: string;
  hasKey: boolean;
  /** Last characters of the key. */
  hint: string | null;
  createdAt: string;
}

/** Editable fields of a provider. */
export interface ProviderFields {
  name: string;
  baseUrl: string;
  key?: string;
}

/** Result of listing a provider's models. */
export type Tested = { ok: true; models: number } | { ok: false; reason: string };

/** Query key of the composer's list of models, which changes with the providers. */
export const modelsKey = ["models"] as const;

/** Returns the query for the user's providers, oldest first. */
export function providersQuery(userId: string) {
  return queryOptions({
    queryKey: ["model-providers", userId],
    queryFn: async () => (await callApi<{ providers: ModelProvider[] }>("/api/model-providers")).providers,
    staleTime: 0,
  });
}

const providerPath = (id: string): string => `/api/model-providers/${encodeURIComponent(id)}`;

export async function addProvider(kind: Kind, fields: ProviderFields): Promise<ModelProvider> {
  const body = jsonBody({ kind, ...fields });
  return (await callApi<{ provider: ModelProvider }>("/api/model-providers", body)).provider;
}

export async function changeProvider(id: string, fields: ProviderFields): Promise<void> {
  await callApi(providerPath(id), { ...jsonBody(fields), method: "PATCH" });
}

export async function removeProvider(id: string): Promise<void> {
  await callApi(providerPath(id), { method: "DELETE" });
}

/** Tests a provider by listing its models. */
export function testProvider(id: string): Promise<Tested> {
  return callApi<Tested>(`${providerPath(id)}/test`, { method: "POST" });
}

/** Settings of all chats without settings of their own. */
interface ModelDefaults {
  readonly model: string | null;
  readonly settings: ModelSettings;
  /** True if the model of a chat proposes its title after the first answer. */
  readonly proposeTitles: boolean;
}

interface ListedModels {
  /** Id of the model that transcribes speech. */
  readonly transcription: string | null;
  readonly models: readonly {
    id: string;
    name: string;
    available: boolean;
    providerName?: string;
    provider: string;
  }[];
}

/** Returns the query for the settings of all chats without settings of their own. */
export function defaultsQuery(userId: string) {
  return queryOptions({
    queryKey: ["model-defaults", userId],
    queryFn: () => callApi<ModelDefaults>("/api/model-defaults"),
    staleTime: 0,
  });
}

/** Returns the query for the models that can be the default. */
export function listedQuery(userId: string) {
  return queryOptions({
    queryKey: [...modelsKey, "listed", userId],
    queryFn: () => callApi<ListedModels>("/api/models"),
    staleTime: 60_000,
  });
}

export async function saveModelDefaults(defaults: ModelDefaults): Promise<void> {
  await callApi("/api/model-defaults", { ...jsonBody(defaults), method: "PUT" });
}

/** Returns the query for the usage of the last days. */
export function usageQuery(userId: string, days: number) {
  return queryOptions({
    queryKey: ["usage", userId, String(days)],
    queryFn: () => callApi<UsageReport>(`/api/usage?days=${days}`),
    staleTime: 0,
  });
}
