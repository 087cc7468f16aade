import type { ApiError } from "@/lib/api-error";
import type { AttachmentPart, ChatMessage, FilePart } from "./message";
import type { ModelStatus } from "./protocol";
import type { RunTransport } from "./run-connection";

/** How many messages a page of history has. */
export const PAGE_SIZE = 30;

/** A tool as a request names it. */
export interface ToolChoice {
  readonly name: string;
  readonly description: string;
  readonly serverName: string;
}

/** A turn that is wanted: words, or an answer anew, or more of one that broke off. */
export interface TurnRequest {
  readonly message?: string;
  /** The id that the message gets, if it may be sent more than once. */
  readonly messageId?: string;
  /** What goes with the words. */
  readonly attachments?: readonly (AttachmentPart | FilePart)[];
  /** The message in whose place the turn stands; it and what comes after it stay as another branch. */
  readonly insteadOf?: string;
  /** The answer to go on with. */
  readonly goesOnWith?: string;
}

/** What a chat needs from the outside. */
export interface ChatBackend extends RunTransport {
  send(turn: TurnRequest, tools: readonly ToolChoice[], signal: AbortSignal): Promise<Response>;
  stop(): Promise<void>;
  /** The newest messages before a moment, or of all, at most so many, oldest first. */
  loadPage(before: string | null, count: number): Promise<readonly ChatMessage[]>;
  /** All messages from a moment on, oldest first. */
  loadSince(from: string | null): Promise<readonly ChatMessage[]>;
  /** Calls back before the next frame is painted; the result cancels it. */
  nextFrame(callback: () => void): () => void;
  /** Milliseconds since 1970. */
  now(): number;
}

/** What a chat tells the product. */
export interface ChatEvents {
  onTitle(title: string): void;
  /** The answer to a message sent here failed. */
  onFailed(reason: string): void;
  /** The run is over and the messages are reloaded. */
  onEnded(): void;
  /** Something failed that nobody waits for; only the log hears of it. */
  onBackgroundError(what: string, error: unknown): void;
}

/** `sending` until the server takes the message, then `running` until the answer has ended. */
export type Phase = "idle" | "sending" | "running" | "stopping";

/** What the transcript's frame and the composer need to know; the rows have subscriptions of their own. */
export interface ChatStatus {
  readonly phase: Phase;
  readonly reconnecting: boolean;
  readonly modelStatus: ModelStatus | null;
  /** How many calls wait for the person. */
  readonly pendingCount: number;
  /** Whether one of them asks for more than a permission. */
  readonly hasPendingElicitation: boolean;
  /** Whether words of the answer are coming in. */
  readonly isStreamingText: boolean;
  readonly ids: readonly string[];
  /** The newest messages have been loaded. */
  readonly loaded: boolean;
  readonly hasOlder: boolean;
  /** Counts the messages sent from here: a new number is the sign to bring the newest into view. */
  readonly sentCount: number;
}

/** A chat of which nothing is known yet. */
export const INITIAL_STATUS: ChatStatus = {
  phase: "idle",
  reconnecting: false,
  modelStatus: null,
  pendingCount: 0,
  hasPendingElicitation: false,
  isStreamingText: false,
  ids: [],
  loaded: false,
  hasOlder: false,
  sentCount: 0,
};

/** How an attempt to send ended. */
export type SendResult =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly error: ApiError | null };
