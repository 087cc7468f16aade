import type { ApiError } from "@/lib/api-error";
import { jsonOrUndefined } from "@/lib/json";
import { draftKeys, readDraft, writeDraft } from "../composer/draft";
import type { ToolChoice, TurnRequest } from "../stream/chat-contract";

/** Message that was written without a network. It is sent when the network is back. */
export interface HeldMessage {
  /** Id that the server stores the message under, which makes sending idempotent. */
  readonly id: string;
  readonly message: string;
  readonly attachments: NonNullable<TurnRequest["attachments"]>;
  readonly tools: readonly ToolChoice[];
  /** Reason why the server refused the message. It waits until the user changes it or sends it again. */
  readonly refusal?: string;
}

const prefix = "held.";
const key = (chatId: string): string => `${prefix}${chatId}`;

/** Last read list of each chat, so that an unchanged list is the same object. */
const read = new Map<string, { readonly stored: string; readonly list: readonly HeldMessage[] }>();
const listeners = new Set<() => void>();

/** Returns the held messages of a chat, oldest first. Like drafts, they survive reloads. */
export function readHeld(chatId: string): readonly HeldMessage[] {
  const stored = readDraft(key(chatId));
  const known = read.get(chatId);
  if (known?.stored === stored) return known.list;
  const parsed = jsonOrUndefined(stored);
  const list = Array.isArray(parsed) ? (parsed as HeldMessage[]) : [];
  read.set(chatId, { stored, list });
  return list;
}

/** Returns the ids of the chats with held messages. */
export function chatsWithHeld(): readonly string[] {
  return draftKeys(prefix).filter((chatId) => readHeld(chatId).length > 0);
}

/** Appends a message to the held ones. */
export function hold(
  chatId: string,
  { message = "", attachments = [] }: TurnRequest,
  tools: readonly ToolChoice[],
): void {
  write(chatId, [...readHeld(chatId), { id: randomUuid(), message, attachments, tools }]);
}

/** Replaces the text of a held message and clears its refusal, so that it is sent again. */
export function changeHeld(chatId: string, id: string, message: string): void {
  edit(chatId, id, ({ attachments, tools }) => ({ id, message, attachments, tools }));
}

/** Marks a held message as refused. */
export function refuseHeld(chatId: string, id: string, { message }: ApiError): void {
  edit(chatId, id, (held) => ({ ...held, refusal: message }));
}

export function removeHeld(chatId: string, id: string): void {
  write(
    chatId,
    readHeld(chatId).filter((held) => held.id !== id),
  );
}

/** Calls `listener` after every change of held messages, in this tab or another. */
export function subscribeHeld(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) addEventListener("storage", notify);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) removeEventListener("storage", notify);
  };
}

function edit(chatId: string, id: string, change: (held: HeldMessage) => HeldMessage): void {
  write(
    chatId,
    readHeld(chatId).map((held) => (held.id === id ? change(held) : held)),
  );
}

function write(chatId: string, list: readonly HeldMessage[]): void {
  writeDraft(key(chatId), list.length === 0 ? "" : JSON.stringify(list));
  notify();
}

function notify(): void {
  for (const listener of listeners) listener();
}

/** Returns a random UUID (version 4), also without TLS, where `crypto.randomUUID` does not exist. */
function randomUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    digits.slice(12, 16),
    digits.slice(16, 20),
    digits.slice(20),
  ].join("-");
}
