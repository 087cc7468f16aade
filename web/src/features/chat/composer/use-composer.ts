import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { ApiError } from "@/lib/api-error";
import { t } from "@/lib/t";
import { toast } from "@/ui/toast";
import { addWaiting } from "../api/queue";
import { hold, readHeld } from "../outbox/outbox";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import { partOf, useAttachments } from "./use-attachments";
import { readDraft, writeDraft } from "./draft";
import { mentionsFiles } from "./drive-words";

/** More tools than these go out by their names alone: the server knows what they do, and a request has its limit. */
const DESCRIBED = 512;

export interface ComposerOptions {
  chatId: string;
  store: ChatStore;
  tools: readonly AvailableTool[];
  /** Whether any tool is connected; undefined while that is not known yet. */
  toolsConnected: boolean | undefined;
  /** A message is on its way. What it returns is called when the server has taken the message. */
  onSend: (text: string) => () => void;
}

/** The text being written in a chat, and what becomes of it when it is sent. */
export function useComposer({ chatId, store, tools, toolsConnected, onSend }: ComposerOptions) {
  const field = useRef<HTMLTextAreaElement>(null);
  const queries = useQueryClient();
  const [text, setText] = useState(() => readDraft(chatId));

  /** A message that waits until the tools are known that it goes out with. */
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
      description: tools.length > DESCRIBED ? "" : description,
      serverName,
    }));

  /** Begins a turn as it is; whether the server took it. */
  const deliver = async (turn: TurnRequest): Promise<boolean> => {
    const onAccepted = turn.message === undefined ? undefined : onSend(turn.message);
    const result = await store.send(turn, choices());
    if (result.accepted) onAccepted?.();
    if (!result.accepted) toast({ title: t("error.title"), ...refusalWords(result.error), tone: "err" });
    return result.accepted;
  };

  /** Has a message wait until the answer is done; whether the server took it. */
  const queue = (turn: TurnRequest): Promise<boolean> => {
    // One after the other: what was said first waits first.
    inLine.current = inLine.current.then(() => addToQueue(turn));
    return inLine.current;
  };

  const addToQueue = async (turn: TurnRequest): Promise<boolean> => {
    try {
      await addWaiting(chatId, turn, choices());
      await queries.invalidateQueries({ queryKey: ["queue", chatId] });
      return true;
    } catch (error) {
      const refusal = error instanceof ApiError ? error : null;
      toast({ title: t("error.title"), ...refusalWords(refusal), tone: "err" });
      return false;
    }
  };

  /** Whether a message can be sent now; says why when only the person can change that. */
  const maySend = (message: string): boolean => {
    if (message.trim() === "") return false;
    if (toolsConnected !== false || !mentionsFiles(message)) return true;
    toast({ title: t("chat.noTools.title"), description: t("chat.noTools.text"), tone: "warn" });
    return false;
  };

  const submit = async (): Promise<void> => {
    // A prompt says something without any words of one's own: then its command is what was said.
    const prompt = attached.list.find(({ kind }) => kind === "prompt");
    const message = text.trim() === "" && prompt ? `/${prompt.name}` : text;
    waits.current = toolsConnected === undefined && message.trim() !== "";
    const { phase } = store.status();
    if (phase === "sending" || waits.current || attached.reading.length > 0 || !maySend(message)) return;
    setText("");
    field.current?.focus();
    const sent = attached.take();
    const turn = { message, attachments: sent.map(partOf) };
    // What was written first is sent first.
    if (!navigator.onLine || readHeld(chatId).length > 0) {
      hold(chatId, turn, choices());
      attached.settle(sent, true);
      writeDraft(chatId, "");
      return;
    }
    const accepted = await (phase === "idle" ? deliver(turn) : queue(turn));
    attached.settle(sent, accepted);
    // The draft stays stored until the server has the message; what was typed meanwhile stands in its place.
    const since = readDraft(chatId) === text ? "" : readDraft(chatId);
    if (accepted) writeDraft(chatId, since);
    else write(since === "" ? text : `${text}\n${since}`);
  };

  useEffect(() => {
    if (waits.current && toolsConnected !== undefined) void submit();
  });

  const take = async (turn: TurnRequest): Promise<boolean> => {
    const may = turn.message === undefined || maySend(turn.message);
    return store.status().phase === "idle" && may && deliver(turn);
  };

  return { field, text, write, fill, submit, take, attached };
}

function refusalWords(error: ApiError | null): { description: string; detail?: string } {
  if (!error) return { description: t("chat.sendFailed"), detail: t("error.unreachable") };
  const { message, retryAfterSeconds } = error;
  // Nobody counts hours in seconds: such a message says itself until when.
  if (retryAfterSeconds === undefined || retryAfterSeconds > 600) return { description: message };
  return { description: message, detail: t("chat.waitSeconds", { n: retryAfterSeconds }) };
}
