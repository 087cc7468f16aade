import type { ToolQuestion } from "@/components/approval/definition";
import type { AttachmentContent } from "../composer/attachments";
import type { ToolOutput } from "@/components/tool-result/tool-output";

/**
 * What a transcript is made of, whether it came from the database or is being streamed. Parts have the names of the UI
 * message stream, so that a stored answer and a live one are drawn by the same components.
 */

/** How far a running tool says that it is. */
export interface ToolProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** What a server says of a call that runs as a task there. */
export interface ToolTask {
  /** Milliseconds since 1970 at which the call was made. */
  readonly startedAt: number;
  /** It waits for answers to its questions. */
  readonly asks: boolean;
  readonly message?: string;
}

export interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly state: "streaming" | "done";
}

export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly state: "streaming" | "done";
  /** Milliseconds since 1970 at which it began and ended here; unknown for stored answers. */
  readonly startedAt?: number;
  readonly endedAt?: number;
}

/** A call that waits for its person. */
export interface ApprovalQuestion extends ToolQuestion {
  readonly id: string;
}

/** A question of a server, or for a sign-in to it, that a call waits with. */
export interface ServerQuestion {
  readonly id: string;
  /** What is asked; looked at where it is shown. */
  readonly request: unknown;
}

export interface ToolPart {
  readonly type: "dynamic-tool";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly serverName?: string;
  /** The address of the app that shows the result, if the tool has one. */
  readonly app?: string;
  readonly state:
    | "input-streaming"
    | "input-available"
    | "approval-requested"
    | "output-available"
    | "output-error"
    | "output-denied";
  /** The arguments once they are whole. */
  readonly input?: unknown;
  /** The JSON text of the arguments while the model is still writing them. */
  readonly inputText: string;
  readonly output?: ToolOutput;
  readonly errorText?: string;
  /** How a stored call ended when it gave neither a result nor an error. */
  readonly outcome?: "unknown" | "stopped" | "denied";
  /** What the person is, or was, asked about this call. */
  readonly approval?: ApprovalQuestion;
  /** The questions that are open. */
  readonly questions?: readonly ServerQuestion[];
  readonly durationMs?: number;
  readonly progress?: ToolProgress;
  /** The call runs as a task at its server. */
  readonly task?: ToolTask;
  /** Milliseconds since 1970 at which the call was seen to start here. */
  readonly startedAt?: number;
}

export interface StepPart {
  readonly type: "step-start";
}

/** A link that the model gives as its source. */
export interface SourcePart {
  readonly type: "source-url";
  readonly sourceId: string;
  readonly url: string;
  readonly title?: string;
}

/** What the person should know about the answer, such as a server that was away. */
export interface NoticePart {
  readonly type: "notice";
  readonly text: string;
}

/** What the person attached to their words. */
export interface AttachmentPart {
  readonly type: "attachment";
  readonly id: string;
  readonly kind: "resource" | "prompt";
  readonly serverName: string;
  readonly name: string;
  readonly title?: string;
  /** The address, for a resource. */
  readonly uri?: string;
  /** What it holds, once the message is stored. */
  readonly content?: AttachmentContent;
}

/** A file that the person attached, or that the model made. It is looked at where it is shown. */
export interface FilePart {
  readonly type: "file";
  readonly id: string;
  readonly url: string;
  readonly mediaType: string;
  readonly filename?: string;
  /** In bytes. */
  readonly size: number;
}

export type Part =
  | TextPart
  | ReasoningPart
  | ToolPart
  | StepPart
  | SourcePart
  | NoticePart
  | AttachmentPart
  | FilePart;

/** `streaming` while it grows; the others are how an answer ended. */
export type MessageStatus = "streaming" | "done" | "stopped" | "failed" | "interrupted";

export interface ChatMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  /** RFC 3339. */
  readonly createdAt: string;
  readonly parts: readonly Part[];
  readonly status: MessageStatus;
  /** What went wrong, for people. */
  readonly error: string | null;
  /** `provider/name`; null for the person's own words. */
  readonly model: string | null;
}

/** A file as a part of the transcript, from what a stream or the database holds. */
export function toFilePart(file: object): FilePart {
  const part = file as Omit<FilePart, "url"> & { url: unknown };
  const url = String(part.url);
  return { ...part, type: "file", url, id: url.slice("/v1/files/".length) };
}

/** What went with a message. */
export function attachmentsOf(message: ChatMessage): readonly (AttachmentPart | FilePart)[] {
  return message.parts.filter((part) => part.type === "attachment" || part.type === "file");
}

/** The plain text of a message, a blank line between two parts: what "Copy" copies. */
export function textOf(message: ChatMessage): string {
  return message.parts
    .flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : []))
    .join("\n\n");
}

/** The person's words as a message of the transcript. */
export function userMessage(
  id: string,
  text: string,
  createdAt: string,
  attachments: readonly (AttachmentPart | FilePart)[] = [],
): ChatMessage {
  return {
    id,
    role: "user",
    createdAt,
    parts: [...attachments, { type: "text", text, state: "done" }],
    status: "done",
    error: null,
    model: null,
  };
}
