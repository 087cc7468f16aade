import { useState } from "react";
import type { AttachmentPart, FilePart } from "../stream/message";
import { type DraftAttachment, readAttachments, writeAttachments } from "./attachments";

type List = readonly DraftAttachment[];

/** Attachments of the message in the composer. */
export interface Attachments {
  readonly list: List;
  readonly change: (edit: (list: List) => List) => void;
  /** Names of the attachments that are still loading. */
  readonly reading: readonly string[];
  readonly setReading: (edit: (names: readonly string[]) => readonly string[]) => void;
  /** Empties the list while its message is being sent. It stays stored until the server has accepted the message. */
  readonly take: () => List;
  /** Removes the stored attachments after a message was accepted, or restores them. */
  readonly settle: (sent: List, accepted: boolean) => void;
}

export function useAttachments(chatId: string): Attachments {
  const [list, setList] = useState(() => readAttachments(chatId));
  const [reading, setReading] = useState<readonly string[]>([]);
  const keep = (edit: (list: List) => List) => writeAttachments(chatId, edit(readAttachments(chatId)));
  return {
    list,
    change: (edit) => {
      setList(edit);
      keep(edit);
    },
    reading,
    setReading,
    take: () => {
      setList([]);
      return list;
    },
    settle: (sent, accepted) => {
      if (accepted) keep((kept) => kept.filter(({ id }) => !sent.some((other) => other.id === id)));
      else setList((since) => [...sent, ...since]);
    },
  };
}

/** Converts an attachment to a part of its message. */
export function partOf(attachment: DraftAttachment): AttachmentPart | FilePart {
  return { type: "attachment", ...attachment };
}
