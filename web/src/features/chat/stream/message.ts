import type { ToolApproval } from "@/components/approval/definition";
import type { ToolOutput } from "@/components/tool-result/tool-output";
import type { AttachmentContent } from "../composer/attachments";

/**
 * Messages of the transcript, stored or streaming. Parts are named as in the UI message stream, so that the same
 * components render both.
 */

/** Progress that a running tool reports. */
interface ToolProgress {
  readonly progress: number;
  readonly total?: number;
  readonly message?: string;
}

/** State of a call that runs as an MCP task. */
export interface ToolTask {
  /** Start of the call, in milliseconds since 1970. */
  readonly startedAt: number;
  /** True if the task waits for elicitations. */
  readonly asks: boolean;
  readonly message?: string;
}

interface TextPart {
  readonly type: "text";
  readonly text: string;
  readonly state: "streaming" | "done";
}

export interface ReasoningPart {
  readonly type: "reasoning";
  readonly text: string;
  readonly state: "streaming" | "done";
  /** Start and end as seen by this page, in milliseconds since 1970; absent for stored answers. */
  readonly startedAt?: number;
  readonly endedAt?: number;
}

/** Approval request of a tool call. */
export interface ApprovalRequest extends ToolApproval {
  readonly id: string;
  /** Connection of the tool, and its name. */
  readonly connectionId?: string;
  readonly serverName?: string;
}

/** Elicitation or sign-in request that a tool call waits for. */
export interface PendingElicitation {
  readonly id: string;
  /** Content of the request, validated where it is rendered. */
  readonly request: unknown;
}

export interface ToolPart {
  readonly type: "dynamic-tool";
  readonly toolCallId: string;
  readonly toolName: string;
  readonly serverName?: string;
  /** Address of the MCP app that shows the result. */
  readonly app?: string;
  readonly state:
    | "input-streaming"
    | "input-available"
    | "approval-requested"
    | "output-available"
    | "output-error"
    | "output-denied";
  /** Complete arguments. */
  readonly input?: unknown;
  /** JSON text of the arguments while they stream. */
  readonly inputText: string;
  readonly output?: ToolOutput;
  readonly errorText?: string;
  /** Outcome of a stored call that has neither a result nor an error. */
  readonly outcome?: "unknown" | "stopped" | "denied";
  /** Approval request of this call, open or answered. */
  readonly approval?: ApprovalRequest;
  /** Open elicitations. */
  readonly elicitations?: readonly PendingElicitation[];
  readonly durationMs?: number;
  readonly progress?: ToolProgress;
  /** State of the task, if the call runs as an MCP task. */
  readonly task?: ToolTask;
  /** Start of the call as seen by this page, in milliseconds since 1970. */
  readonly startedAt?: number;
}

interface StepPart {
  readonly type: "step-start";
}

/** Link that the model cites. */
export interface SourcePart {
  readonly type: "source-url";
  readonly sourceId: string;
  readonly url: string;
  readonly title?: string;
}

/** Notice for the user about the answer, such as an unreachable server. */
interface NoticePart {
  readonly type: "notice";
  readonly text: string;
}

/** Replies to the text before them, of which the user can send one with a click. */
export interface ReplyOptionsPart {
  readonly type: "reply-options";
  /** Texts, validated where they are rendered. */
  readonly options: unknown;
}

/** Attachment of a user message. */
export interface AttachmentPart {
  readonly type: "attachment";
  readonly id: string;
  readonly kind: "resource" | "prompt";
  readonly serverName: string;
  readonly name: string;
  readonly title?: string;
  /** Absent for a prompt. */
  readonly uri?: string;
  /** Present once the message is stored. */
  readonly content?: AttachmentContent;
}

/** Uploaded or generated file, validated where it is rendered. */
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
  | ReplyOptionsPart
  | AttachmentPart
  | FilePart;

/** `streaming`, or how an answer ended. */
export type MessageStatus = "streaming" | "done" | "length" | "stopped" | "failed" | "interrupted";

export interface ChatMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  /** RFC 3339. */
  readonly createdAt: string;
  readonly parts: readonly Part[];
  readonly status: MessageStatus;
  /** Error message for the user. */
  readonly error: string | null;
  /** `provider/name`; null for user messages. */
  readonly model: string | null;
}

/** Converts a file of the stream or the database to a part. */
export function toFilePart(file: object): FilePart {
  const part = file as Omit<FilePart, "url"> & { url: unknown };
  const url = String(part.url);
  return { ...part, type: "file", url, id: url.slice("/v1/files/".length) };
}

/** Returns the attachments and files of a message. */
export function attachmentsOf(message: ChatMessage): readonly (AttachmentPart | FilePart)[] {
  return message.parts.filter((part) => part.type === "attachment" || part.type === "file");
}

/** Returns the plain text of a message for "Copy", with a blank line between parts. */
export function textOf(message: ChatMessage): string {
  return message.parts
    .flatMap((part) => (part.type === "text" && part.text !== "" ? [part.text] : []))
    .join("\n\n");
}

/** Creates a user message for the transcript. */
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

/** Counts the parts of a streaming answer that match a predicate. */
export function countPending(message: ChatMessage | null, isPending: (part: Part) => boolean): number {
  return message?.status === "streaming" ? message.parts.filter(isPending).length : 0;
}

/** Returns true for a tool call with an open elicitation, which needs more than an approval. */
export const hasElicitation = (part: Part): boolean =>
  part.type === "dynamic-tool" && part.state === "input-available" && (part.elicitations?.length ?? 0) > 0;

/** Returns true for a tool call that waits for the user. */
export const isAwaitingUser = (part: Part): boolean =>
  (part.type === "dynamic-tool" && part.state === "approval-requested") || hasElicitation(part);

/** Returns the name of the first tool whose call waits for the user. */
export function pendingTool(message: ChatMessage | null): string | null {
  if (message?.status !== "streaming") return null;
  const part = message.parts.find(isAwaitingUser);
  return part?.type === "dynamic-tool" ? part.toolName : null;
}

/** Returns true while text arrives, so that no "thinking" line is needed below it. */
export function isStreamingText(message: ChatMessage | null): boolean {
  const last = message?.parts.at(-1);
  if (last?.type !== "text" && last?.type !== "reasoning") return false;
  return last.state === "streaming" && last.text !== "";
}
