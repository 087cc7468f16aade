import { jsonOrUndefined } from "@/lib/json";
import type { FilePart } from "../stream/message";
import { readDraft, writeDraft } from "./draft";

/** One content of a resource, as MCP defines it. */
interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  /** Base64. */
  readonly blob?: string;
}

/** Content of an attachment at the time when it was attached. */
export type AttachmentContent = {
  readonly id: string;
  readonly serverName: string;
  readonly name: string;
  readonly title?: string;
} & (
  | { readonly kind: "resource"; readonly uri: string; readonly contents: readonly ResourceContents[] }
  | {
      readonly kind: "prompt";
      readonly arguments: Readonly<Record<string, string>>;
      readonly messages: readonly { readonly role: "user" | "assistant"; readonly content: unknown }[];
    }
);

/** Attachment of the message in the composer; its content is stored on the server. */
export type DraftAttachment = DraftMcpAttachment | DraftFile;

/** Uploaded file, in the shape of its message part. */
type DraftFile = FilePart & { readonly kind: "file"; readonly name: string };

/** Prompt or resource of an MCP server. */
export interface DraftMcpAttachment {
  readonly id: string;
  readonly connectionId: string;
  readonly serverName: string;
  readonly name: string;
  readonly title?: string;
  readonly kind: "resource" | "prompt";
  /** Absent for a prompt. */
  readonly uri?: string;
}

const key = (chatId: string): string => `attached.${chatId}`;

/** Returns the attachments of a chat that were not sent yet. */
export function readAttachments(chatId: string): readonly DraftAttachment[] {
  const stored = jsonOrUndefined(readDraft(key(chatId)));
  return Array.isArray(stored) ? (stored as DraftAttachment[]) : [];
}

/** Stores the attachments of a chat, so that they survive a reload like the text. */
export function writeAttachments(chatId: string, attachments: readonly DraftAttachment[]): void {
  writeDraft(key(chatId), attachments.length === 0 ? "" : JSON.stringify(attachments));
}
