import { queryOptions, useQuery } from "@tanstack/react-query";
import type { ElicitationAction } from "@/components/elicitation/request";
import type { ModelSettings } from "@/components/model-settings/settings";
import { callApi, jsonBody } from "@/lib/api-client";
import { stringifyJson } from "@/lib/json";
import { insertRow, readRow, readRows } from "@/lib/rows";
import { t } from "@/lib/t";
import type { Usage } from "@/lib/usage";
import type { ToolChoice, TurnRequest } from "./stream/chat-contract";
import type { ChatMessage } from "./stream/message";
import { fromRow, type MessageRow } from "./stream/stored-message";

/** Row of `ai_chat_sessions` with the user's settings of the chat. */
export interface ChatSession {
  readonly id: string;
  readonly user_id: string;
  readonly title: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly pinned?: boolean;
  readonly archived?: boolean;
}

/** Title of a chat without messages. */
const NEW_TITLE = "New Chat";

/** Number of characters of the first message that become the title. */
const TITLE_LENGTH = 30;

/** Returns the title that a first message gives its chat. */
export function titleOf(message: string): string {
  const characters = [...message];
  return characters.length > TITLE_LENGTH ? `${characters.slice(0, TITLE_LENGTH).join("")}...` : message;
}

/** Returns the query for the user's chats, the latest first. */
export function sessionsQuery(userId: string) {
  return queryOptions({
    queryKey: ["chat-sessions", userId],
    queryFn: async (): Promise<readonly ChatSession[]> => {
      const [found, marks] = await Promise.all([
        listSessions(userId),
        callApi<Record<"pinned" | "archived", string[]>>("/api/sessions/marks"),
      ]);
      const [pinned, archived] = [new Set(marks.pinned), new Set(marks.archived)];
      return found.map((chat) => ({
        ...chat,
        pinned: pinned.has(chat.id),
        archived: archived.has(chat.id),
      }));
    },
  });
}

function listSessions(userId: string): Promise<readonly ChatSession[]> {
  return readRows("ai_chat_sessions", { user_id: `eq.${userId}`, order: "updated_at.desc" });
}

/** Returns those of the user's chats that have these ids. */
export function listSessionsById(userId: string, ids: readonly string[]): Promise<readonly ChatSession[]> {
  return readRows("ai_chat_sessions", { user_id: `eq.${userId}`, id: `in.(${ids.join(",")})` });
}

/** Returns chats in the order of the list. */
export function sortLatestFirst(chats: readonly ChatSession[]): readonly ChatSession[] {
  return chats.toSorted((one, other) => Date.parse(other.updated_at) - Date.parse(one.updated_at));
}

export function createSession(userId: string): Promise<ChatSession> {
  return insertRow("ai_chat_sessions", { user_id: userId, title: NEW_TITLE });
}

/** Part of a text with the ranges to highlight, in UTF-16 code units. */
export interface Excerpt {
  readonly text: string;
  readonly marks: readonly (readonly [from: number, to: number])[];
}

/** Chat whose title matches a search. */
interface ChatHit {
  readonly sessionId: string;
  readonly title: Excerpt;
  readonly updatedAt: string;
}

/** Message that matches a search. */
export interface MessageHit {
  readonly sessionId: string;
  readonly title: string;
  readonly messageId: string;
  readonly role: "user" | "assistant";
  readonly createdAt: string;
  readonly excerpt: Excerpt;
}

/** Search results, the newest first. */
export interface Found {
  readonly chats: readonly ChatHit[];
  readonly messages: readonly MessageHit[];
  readonly next: string | null;
}

export function searchChats(text: string, before: string | null): Promise<Found> {
  const query = new URLSearchParams({ q: text, ...(before !== null && { before }) });
  return callApi(`/api/search?${query}`);
}

/** Loads a chat by its id. */
export function loadSession(id: string): Promise<ChatSession> {
  return readRow("ai_chat_sessions", { id: `eq.${id}` });
}

/** Returns the path of something about a chat in the API. */
export function chatPath(id: string, what: string): string {
  return `/api/sessions/${encodeURIComponent(id)}/${what}`;
}

interface ChatSettings {
  readonly settings: ModelSettings;
  /** Settings of all of the user's chats. */
  readonly defaults: ModelSettings;
}

/** Returns the query for the instructions and parameters of a chat. */
export function chatSettingsQuery(chatId: string) {
  return queryOptions({
    queryKey: ["chat-settings", chatId],
    queryFn: () => callApi<ChatSettings>(chatPath(chatId, "settings")),
    staleTime: 0,
  });
}

export async function saveChatSettings(chatId: string, settings: ModelSettings): Promise<void> {
  await callApi(chatPath(chatId, "settings"), { ...jsonBody(settings), method: "PUT" });
}

/** Returns the query for the first page of a search. */
export function searchQuery(text: string) {
  return queryOptions({
    queryKey: ["search", text],
    queryFn: () => searchChats(text, null),
    enabled: text !== "",
  });
}

/** Returns the key of the query that opens a chat, or of all such queries. */
export function chatKey(chatId?: string): readonly string[] {
  return chatId === undefined ? ["chat"] : ["chat", chatId];
}

/** Responds to an elicitation of a tool call. The first response counts, in any tab. */
export function respondToElicitation(
  chatId: string,
  id: string,
  action: ElicitationAction,
  content: unknown,
): Promise<void> {
  const body = { action, ...(content !== undefined && { content }) };
  return callApi(chatPath(chatId, `elicitations/${encodeURIComponent(id)}`), jsonBody(body, stringifyJson));
}

/** Loads the newest messages of a chat, or the newest before a time; oldest first. */
export async function loadPage(
  sessionId: string,
  before: string | null,
  count: number,
): Promise<readonly ChatMessage[]> {
  const page = await readRows<MessageRow>("ai_chat_messages", {
    session_id: `eq.${sessionId}`,
    ...(before !== null && { created_at: `lt.${before}` }),
    order: "created_at.desc",
    limit: `${count}`,
  });
  return page.toReversed().map(fromRow);
}

/** Loads the messages of a chat from a time on, oldest first. */
export async function loadSince(sessionId: string, from: string | null): Promise<readonly ChatMessage[]> {
  const newer = await readRows<MessageRow>("ai_chat_messages", {
    session_id: `eq.${sessionId}`,
    ...(from !== null && { created_at: `gte.${from}` }),
    order: "created_at.asc",
  });
  return newer.map(fromRow);
}

/** Known properties of a model; unknown ones are absent. */
export interface ModelFacts {
  /** Context window in tokens, input and output together. */
  readonly context?: number;
  readonly tools?: boolean;
  /** True if it accepts images. */
  readonly images?: boolean;
  /** True if it accepts PDF documents. */
  readonly pdf?: boolean;
  /** True if it also generates images. */
  readonly imageOutput?: boolean;
  readonly reasoning?: boolean;
  /** US dollars per million tokens. */
  readonly price?: { readonly input: number; readonly output: number };
}

/** Model that can answer in a chat. */
export interface Model {
  /** `provider/name`. */
  readonly id: string;
  readonly name: string;
  readonly provider: string;
  /** The user's name for a provider of their own. */
  readonly providerName?: string;
  readonly builtIn: boolean;
  readonly available: boolean;
  /** Reason why the model is unavailable, with what to do. */
  readonly reason?: string | null;
  readonly facts?: ModelFacts;
  readonly about?: {
    readonly license: string;
    readonly origin: string;
    readonly sizeBytes: number;
    readonly note: string;
  } | null;
}

interface ModelList {
  readonly default: string | null;
  /** Id of the model that transcribes speech. */
  readonly transcription: string | null;
  readonly models: readonly Model[];
  /** Ids of the user's favorite models. */
  readonly favourites: readonly string[];
}

export const modelsQuery = queryOptions({
  queryKey: ["models"],
  queryFn: () => callApi<ModelList>("/api/models"),
  // Keys and model files change rarely.
  staleTime: 60_000,
});

/** Beginning of the keys of {@link chatModelQuery}. */
export const chatModelsKey = ["chat-model"] as const;

/** Returns the query for the model chosen in a chat; null if none was chosen. */
export function chatModelQuery(chatId: string) {
  return queryOptions({
    queryKey: [...chatModelsKey, chatId],
    queryFn: async () => (await callApi<{ model: string | null }>(chatPath(chatId, "model"))).model,
    staleTime: 60_000,
  });
}

/** Returns the model that answers: the chosen one, else the default, else the first available one. */
function activeModel(list: ModelList, chosen: string | null = null): Model | undefined {
  return (
    (chosen === null ? undefined : (list.models.find(({ id }) => id === chosen) ?? missing(chosen))) ??
    list.models.find(({ id }) => id === list.default) ??
    list.models.find(({ available }) => available) ??
    list.models[0]
  );
}

/** Returns a placeholder for a chosen model that is not listed any more. */
function missing(id: string): Model {
  const [provider = id, ...name] = id.split("/");
  return { id, name: name.join("/"), provider, builtIn: false, available: false };
}

/**
 * Queues a message until the current answer is done.
 * @throws {ApiError} if the server refuses it or cannot be reached
 */
export async function enqueueMessage(
  sessionId: string,
  { message, attachments = [] }: TurnRequest,
  tools: readonly ToolChoice[],
): Promise<void> {
  const ids = attachments.map(({ id }) => id);
  const body = { message, sessionId, tools, ...(ids.length > 0 && { attachments: ids }) };
  await callApi(chatPath(sessionId, "queue"), jsonBody(body));
}

interface AnswerUsage {
  readonly answer: Usage;
  readonly chat: Usage;
  /** Usage of the last model call of the answer; null for an answer without recorded calls. */
  readonly lastCall: Pick<Usage, "inputTokens" | "outputTokens"> | null;
}

/** Returns the query for the cost of an answer and of its chat so far. */
export function answerUsageQuery(chatId: string, messageId: string) {
  const path = chatPath(chatId, `messages/${encodeURIComponent(messageId)}/usage`);
  return queryOptions({
    queryKey: ["answer-usage", chatId, messageId],
    queryFn: () => callApi<AnswerUsage>(path),
    staleTime: 0,
  });
}

/** Message that is sent after the current answer. */
interface QueuedMessage {
  readonly id: string;
  readonly content: string;
  /** Names of the message's attachments. */
  readonly attached: readonly string[];
}

/** Queue of a chat. */
interface Waiting {
  /** The next message first. */
  readonly messages: readonly QueuedMessage[];
  /** Reason why no message can be sent at the moment, for the user. */
  readonly hindrance: string | null;
}

export const queueQuery = (chatId: string) =>
  queryOptions({
    queryKey: ["queue", chatId],
    queryFn: () => callApi<Waiting>(chatPath(chatId, "queue")),
    staleTime: 0,
  });

interface ForkList {
  readonly forks: readonly { readonly messageId: string; readonly branches: readonly string[] }[];
}

/** Branches of a chat: for each message with alternatives, the ids of all alternatives. */
export const branchesQuery = (chatId: string) =>
  queryOptions({
    queryKey: ["branches", chatId],
    queryFn: async () => {
      const { forks } = await callApi<ForkList>(chatPath(chatId, "branches"));
      return new Map(forks.map(({ messageId, branches }) => [messageId, branches]));
    },
    staleTime: 60_000,
  });

/**
 * Activates the branch that contains a message; returns true if that changed anything.
 * @throws {ApiError} while an answer is being written
 */
export async function switchBranch(chatId: string, messageId: string): Promise<boolean> {
  return (await callApi<{ switched: boolean }>(chatPath(chatId, "branches"), jsonBody({ messageId })))
    .switched;
}

/** Answer to an approval request. */
export type Decision = "once" | "always" | "deny";

/**
 * Answers an approval request; `args` replace the model's arguments. The first answer counts, in any tab.
 * @throws {ApiError} if the arguments are refused or the turn has ended
 */
export async function decide(
  chatId: string,
  approvalId: string,
  decision: Decision,
  args: unknown,
): Promise<void> {
  const path = chatPath(chatId, `approvals/${encodeURIComponent(approvalId)}`);
  await callApi(path, jsonBody({ decision, ...(args !== undefined && { arguments: args }) }, stringifyJson));
}

/**
 * Cancels one call; the turn continues without its result.
 * @throws {ApiError} if the call cannot be cancelled
 */
export async function cancelCall(chatId: string, toolCallId: string): Promise<void> {
  await callApi(chatPath(chatId, `calls/${encodeURIComponent(toolCallId)}/cancel`), { method: "POST" });
}

/** Returns the answering model of a chat once it is loaded. */
export function useChatModel(chatId: string): { loaded: boolean; model: Model | undefined } {
  const { data: list } = useQuery(modelsQuery);
  const { data: chosen, error } = useQuery(chatModelQuery(chatId));
  // If the choice cannot be loaded, the default is the best guess.
  const loaded = list !== undefined && (chosen !== undefined || error !== null);
  return { loaded, model: loaded ? activeModel(list, chosen) : undefined };
}

/** Returns true if a chat has a title of its own: from its first message, or from its user. */
export function hasTitle({ title }: ChatSession): boolean {
  return title !== NEW_TITLE;
}

/** Returns the title of a chat to show. The one of a chat without messages is stored in English. */
export function shownTitle(chat: ChatSession): string {
  return hasTitle(chat) ? chat.title : t("chat.new");
}
