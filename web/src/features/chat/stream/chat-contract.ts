import type { ApiError } from "@/lib/api-error";
import type { AttachmentPart, ChatMessage, FilePart } from "./message";
import type { ModelStatus } from "./protocol";
import type { TurnTransport } from "./turn-connection";

/** Number of messages in a page of the history. */
export const PAGE_SIZE = 30;

/** Tool in the form in which a request names it. */
export interface ToolChoice {
  readonly name: string;
  readonly description: string;
  readonly serverName: string;
}

/** Request for a turn: a new message, a retry, or the continuation of an incomplete answer. */
export interface TurnRequest {
  readonly message?: string;
  /** Id for the message, if it may be sent more than once. */
  readonly messageId?: string;
  /** Attachments of the message. */
  readonly attachments?: readonly (AttachmentPart | FilePart)[];
  /** Id of the message that the turn replaces; it and all later ones stay as another branch. */
  readonly replaces?: string;
  /** Id of the answer to continue. */
  readonly continues?: string;
  /** Model of this turn, as `provider/name`, if it is not that of the chat. */
  readonly model?: string;
}

/** Access of a {@link ChatStore} to the server and the browser. */
export interface ChatBackend extends TurnTransport {
  send(turn: TurnRequest, tools: readonly ToolChoice[], signal: AbortSignal): Promise<Response>;
  stop(): Promise<void>;
  /** Loads the `count` newest messages, or the newest before a time; oldest first. */
  loadPage(before: string | null, count: number): Promise<readonly ChatMessage[]>;
  /** Loads all messages from a time on, oldest first. */
  loadSince(from: string | null): Promise<readonly ChatMessage[]>;
  /** Calls back before the next frame is painted; the result cancels the call. */
  nextFrame(callback: () => void): () => void;
  /** Milliseconds since 1970. */
  now(): number;
}

/** Notifications of a {@link ChatStore} to the rest of the page. */
export interface ChatEvents {
  onTitle(title: string): void;
  /** Reports that the answer to a message sent from this page failed. */
  onFailed(reason: string): void;
  /** Reports that a turn has ended and its messages are loaded. */
  onEnded(): void;
  /** Reports an error that concerns no user action; it is only logged. */
  onBackgroundError(what: string, error: unknown): void;
}

/** `sending` until the server accepts the message, then `running` until the turn has ended. */
export type Phase = "idle" | "sending" | "running" | "stopping";

/** State for the transcript and the composer; rows subscribe to their messages themselves. */
export interface ChatStatus {
  readonly phase: Phase;
  /** Start of the turn as seen by this page, in milliseconds since 1970. */
  readonly busySince: number | null;
  readonly reconnecting: boolean;
  readonly modelStatus: ModelStatus | null;
  /** Number of tool calls that wait for the user. */
  readonly pendingCount: number;
  /** Name of the first of their tools. */
  readonly pendingTool: string | null;
  /** True if one of them needs more than an approval. */
  readonly hasPendingElicitation: boolean;
  /** True if text of the answer is arriving. */
  readonly isStreamingText: boolean;
  readonly ids: readonly string[];
  /** True if the newest messages have been loaded. */
  readonly loaded: boolean;
  readonly hasOlder: boolean;
  /** Number of messages sent from this page. The transcript scrolls to the end when it grows. */
  readonly sentCount: number;
}

/** State of a chat before anything is loaded. */
export const INITIAL_STATUS: ChatStatus = {
  phase: "idle",
  busySince: null,
  reconnecting: false,
  modelStatus: null,
  pendingCount: 0,
  pendingTool: null,
  hasPendingElicitation: false,
  isStreamingText: false,
  ids: [],
  loaded: false,
  hasOlder: false,
  sentCount: 0,
};

/** Result of an attempt to send. */
export type SendResult =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly error: ApiError | null };
