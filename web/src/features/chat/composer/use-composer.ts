import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { ApiError } from "@/lib/api-error";
import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/t";
import { toast } from "@/ui/toast";
import { hold, readHeld } from "../outbox/outbox";
import { enqueueMessage, queueQuery } from "../queries";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { readDraft, writeDraft } from "./draft";
import { partOf, useAttachments } from "./use-attachments";

/** Up to this many tools are sent with descriptions; the server knows the others, and requests have a size limit. */
const MAX_DESCRIBED_TOOLS = 512;

export interface ComposerOptions {
  chatId: string;
  store: ChatStore;
  tools: readonly AvailableTool[];
  /** True if any tool is connected; undefined while the tools load. */
  toolsConnected: boolean | undefined;
  /** Called when a message is being sent; the returned function is called once the server accepted it. */
  onSend: (text: string) => () => void;
  /** Called instead of sending a message while a new chat opens, for which it is. */
  submitLater: (() => void) | undefined;
}

/** State and actions of the message field of a chat. */
export function useComposer({ chatId, store, tools, toolsConnected, onSend, submitLater }: ComposerOptions) {
  const field = useRef<HTMLTextAreaElement>(null);
  const queries = useQueryClient();
  const [text, setText] = useState(() => readDraft(chatId));

  /** True if a message waits for the tools to load. */
  const waits = useRef(false);

  const inLine = useRef<Promise<boolean>>(Promise.resolve(true));

  const attached = useAttachments(chatId);

  const write = (next: string) => {
    waits.current = false;
    setText(next);
    writeDraft(chatId, next);
  };

  const fill = (next: string) => {
    write(next);
    field.current?.focus();
    field.current?.setSelectionRange(next.length, next.length);
  };

  const choices = () =>
    tools.map(({ name, description, serverName }) => ({
      name,
      description: tools.length > MAX_DESCRIBED_TOOLS ? "" : description,
      serverName,
    }));

  /** Starts a turn; resolves to true if the server accepted it. */
  const deliver = async (turn: TurnRequest): Promise<boolean> => {
    const onAccepted = turn.message === undefined ? undefined : onSend(turn.message);
    const result = await store.send(turn, choices());
    if (result.accepted) onAccepted?.();
    if (!result.accepted) toast({ title: t("error.title"), ...refusalWords(result.error), tone: "err" });
    return result.accepted;
  };

  /** Queues a message until the answer is done; resolves to true if the server accepted it. */
  const queue = (turn: TurnRequest): Promise<boolean> => {
    // One request after the other keeps the order in which the messages were written.
    inLine.current = inLine.current.then(() => addToQueue(turn));
    return inLine.current;
  };

  const addToQueue = async (turn: TurnRequest): Promise<boolean> => {
    try {
      await enqueueMessage(chatId, turn, choices());
      await queries.invalidateQueries({ queryKey: queueQuery(chatId).queryKey });
      return true;
    } catch (error) {
      const refusal = error instanceof ApiError ? error : null;
      toast({ title: t("error.title"), ...refusalWords(refusal), tone: "err" });
      return false;
    }
  };

  /** Returns true if a message can be sent now; otherwise shows the reason if the user can change it. */
  const maySend = (message: string): boolean => {
    if (message.trim() === "") return false;
    if (toolsConnected !== false || !mentionsFiles(message)) return true;
    toast({ title: t("chat.noTools.title"), description: t("chat.noTools.text"), tone: "warn" });
    return false;
  };

  const submit = async (): Promise<void> => {
    if (submitLater) return submitLater();
    // A message may consist of a prompt alone; then the prompt's command is its text.
    const prompt = attached.list.find(({ kind }) => kind === "prompt");
    const message = text.trim() === "" && prompt ? `/${prompt.name}` : text;
    waits.current = toolsConnected === undefined && message.trim() !== "";
    const { phase } = store.status();
    if (phase === "sending" || waits.current || attached.reading.length > 0 || !maySend(message)) return;
    setText("");
    field.current?.focus();
    const sent = attached.take();
    const turn = { message, attachments: sent.map(partOf) };
    // Messages are sent in the order in which they were written.
    if (!navigator.onLine || readHeld(chatId).length > 0) {
      hold(chatId, turn, choices());
      attached.settle(sent, true);
      writeDraft(chatId, "");
      return;
    }
    const accepted = await (phase === "idle" ? deliver(turn) : queue(turn));
    attached.settle(sent, accepted);
    // The draft stays stored until the server has accepted the message, and text typed in the meantime replaces it.
    const since = readDraft(chatId) === text ? "" : readDraft(chatId);
    if (accepted) writeDraft(chatId, since);
    else write(since === "" ? text : `${text}\n${since}`);
  };

  useEffect(() => {
    if (waits.current && toolsConnected !== undefined) void submit();
  });

  const startTurn = async (turn: TurnRequest): Promise<boolean> => {
    const may = turn.message === undefined || maySend(turn.message);
    return store.status().phase === "idle" && may && deliver(turn);
  };

  return { field, text, write, fill, submit, startTurn, attached };
}

function refusalWords(error: ApiError | null): { description: string; detail?: string } {
  if (!error) return { description: t("chat.sendFailed"), detail: t("error.unreachable") };
  const { message, retryAfterSeconds } = error;
  // For long waits the error message itself says until when.
  if (retryAfterSeconds === undefined || retryAfterSeconds > 600) return { description: message };
  return { description: message, detail: t("chat.waitSeconds", { n: retryAfterSeconds }) };
}

/** Words for files that no answer can reach without a tool. */
const FILE_WORDS = ["drive", "google drive", "workcover", "folder", "files", "documents"] as const;

/** Returns true if a message asks for something that only a connected tool can do. */
export function mentionsFiles(message: string): boolean {
  const text = message.toLowerCase();
  return FILE_WORDS.some((word) => text.includes(word));
}
