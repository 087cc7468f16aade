import { useState } from "react";
import type { AttachmentPart, FilePart } from "../stream/message";
import { type DraftAttachment, readAttachments, writeAttachments } from "./attachments";

type List = readonly DraftAttachment[];

/** What goes with the message being written in a chat. */
export interface Attachments {
  readonly list: List;
  readonly change: (edit: (list: List) => List) => void;
  /** The names of what is still being read. */
  readonly reading: readonly string[];
  readonly setReading: (edit: (names: readonly string[]) => readonly string[]) => void;
  /** Empties the list for a message on its way. It stays stored until the server has the message. */
  readonly take: () => List;
  /** Forgets what was sent, or puts it back. */
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

/** An attachment as a part of the message that it goes with. */
export function partOf(attachment: DraftAttachment): AttachmentPart | FilePart {
  return { type: "attachment", ...attachment };
}
