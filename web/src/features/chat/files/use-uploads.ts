import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { fileQuery } from "@/components/files/use-file";
import { messageOf } from "@/lib/api-error";
import { t } from "@/lib/later-texts";
import { toast } from "@/ui/toast";
import type { DraftAttachment } from "../composer/attachments";
import type { Attachments } from "../composer/use-attachments";
import { upload } from "./upload";

/** Limit of the server for one file. */
const MAX_FILE_BYTES = 10 * 1024 * 1024;
/** Limit of the server for one message. */
const MAX_FILES_PER_MESSAGE = 16;

/** Upload in progress or failed. */
export interface Upload {
  readonly key: number;
  readonly file: File;
  /** From 0 to 1. */
  readonly share: number;
  /** Reason of the failure. */
  readonly error?: string;
}

let keys = 0;

/** Name of a pending upload in the list of loading attachments, so that the message waits for it. */
const PENDING_UPLOAD_NAME = "";

/** Uploads files and attaches them to the message when they are stored. */
export function useUploads(chatId: string, attached: Attachments) {
  const [uploads, setUploads] = useState<readonly Upload[]>([]);
  const running = useRef(new Map<number, AbortController>());
  const order = useRef(new Map<string, number>());
  const queries = useQueryClient();
  const { change, setReading } = attached;

  const update = (key: number, more: Partial<Upload>) =>
    setUploads((before) => before.map((one) => (one.key === key ? { ...one, ...more } : one)));

  const drop = (key: number) => {
    running.current.delete(key);
    setUploads((before) => before.filter((one) => one.key !== key));
    setReading((before) => before.toSpliced(before.indexOf(PENDING_UPLOAD_NAME), 1));
  };

  async function start(key: number, file: File): Promise<void> {
    const abort = new AbortController();
    running.current.set(key, abort);
    try {
      const onProgress = (share: number) => update(key, { share });
      const { id, name, mediaType, size } = await upload(file, { chatId, onProgress, signal: abort.signal });
      const url = `/v1/files/${id}`;
      queries.setQueryData(fileQuery(url).queryKey, () => file);
      const draft: DraftAttachment = {
        type: "file",
        kind: "file",
        id,
        url,
        name,
        filename: name,
        mediaType,
        size,
      };
      order.current.set(id, key);
      // Keep the order in which the files were chosen.
      const placeOf = (one: { id: string }) => order.current.get(one.id) ?? -1;
      change((before) => [...before, draft].toSorted((one, other) => placeOf(one) - placeOf(other)));
      drop(key);
    } catch (error) {
      if (!abort.signal.aborted) update(key, { error: messageOf(error) });
    }
  }

  function add(files: readonly File[]): void {
    const room = MAX_FILES_PER_MESSAGE - attached.list.length - attached.reading.length;
    if (files.length > room) toast({ title: t("files.tooMany", { n: MAX_FILES_PER_MESSAGE }), tone: "warn" });
    for (const file of files.slice(0, Math.max(room, 0))) {
      const key = keys++;
      const error =
        file.size > MAX_FILE_BYTES ? t("files.tooLarge", { n: MAX_FILE_BYTES / (1024 * 1024) }) : undefined;
      setUploads((before) => [...before, { key, file, share: 0, ...(error !== undefined && { error }) }]);
      setReading((before) => [...before, PENDING_UPLOAD_NAME]);
      if (error === undefined) void start(key, file);
    }
  }

  function retry({ key, file }: Upload): void {
    setUploads((before) => before.map((one) => (one.key === key ? { key, file, share: 0 } : one)));
    void start(key, file);
  }

  function cancel(key: number): void {
    running.current.get(key)?.abort();
    drop(key);
  }

  // Leaving the chat cancels its uploads.
  useEffect(() => {
    const all = running.current;
    return () => all.forEach((one) => one.abort());
  }, []);

  return { uploads, add, retry, cancel };
}
