import { jsonOrUndefined } from "@/lib/json";
import type { FilePart } from "../stream/message";
import { readDraft, writeDraft } from "./draft";

/** A piece of a resource. */
export interface ResourceContents {
  readonly uri: string;
  readonly mimeType?: string;
  readonly text?: string;
  /** Base64. */
  readonly blob?: string;
}

/** What is attached to a message, as it was when it was attached. */
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

/** What stands beside a message that is being written. What it holds is kept at the server. */
export type DraftAttachment = DraftOffer | DraftFile;

/** A file of the person's own, as the part of the message that it becomes. */
export type DraftFile = FilePart & { readonly kind: "file"; readonly name: string };

/** Something of a server. */
export interface DraftOffer {
  readonly id: string;
  readonly connectionId: string;
  readonly serverName: string;
  readonly name: string;
  readonly title?: string;
  readonly kind: "resource" | "prompt";
  /** The address, for a resource. */
  readonly uri?: string;
}

const key = (chatId: string): string => `attached.${chatId}`;

/** What was attached in a chat and not yet taken by the server. */
export function readAttachments(chatId: string): readonly DraftAttachment[] {
  const stored = jsonOrUndefined(readDraft(key(chatId)));
  return Array.isArray(stored) ? (stored as DraftAttachment[]) : [];
}

/** Keeps what is attached through reloads, as the text is kept. */
export function writeAttachments(chatId: string, attachments: readonly DraftAttachment[]): void {
  writeDraft(key(chatId), attachments.length === 0 ? "" : JSON.stringify(attachments));
}
