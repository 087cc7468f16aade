import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { t } from "@/lib/t";
import { toast } from "@/ui/toast";
import { type ChatSession, createSession, sessionsQuery } from "../api/sessions";
import type { ChatRegistry } from "../chat-registry";
import { chatInUrl, writeChatToUrl } from "./chat-url";
import { forgetUnfinishedOpening, unfinishedOpening } from "./opening-marker";

/** A chat that is never written down. */
export interface TemporaryChat extends ChatSession {
  /** Lets the server forget it. */
  readonly drop: () => void;
}

export interface Chats {
  /** The chats that are not put away, the latest first. */
  readonly list: readonly ChatSession[];
  /** Those that are. */
  readonly archived: readonly ChatSession[];
  readonly active: ChatSession | undefined;
  /** The chat that is not opened by itself, because its last opening did not finish. */
  readonly unfinished: ChatSession | undefined;
  /** Whether the list is still on its way. */
  readonly loading: boolean;
  /** The open chat, if it is one that is not kept. */
  readonly temporary: TemporaryChat | null;
  /** A chat is being made. */
  readonly creating: boolean;
  readonly registry: ChatRegistry;
  readonly userId: string;
  readonly select: (id: string) => void;
  readonly create: () => void;
  /** Opens a chat that is not kept. Leaving it drops it. */
  readonly openTemporary: (chat: TemporaryChat) => void;
  readonly endTemporary: () => void;
  /** Shows the list as it is after a change that the server knows of. */
  readonly change: (edit: (list: readonly ChatSession[]) => readonly ChatSession[]) => void;
}

const NONE: readonly ChatSession[] = [];

/** The person's chats and which of them is open: the one in the address, else the latest. */
export function useChats(userId: string, registry: ChatRegistry): Chats {
  const queries = useQueryClient();
  const sessions = sessionsQuery(userId);
  const { data: all = NONE, isPending, isSuccess, dataUpdatedAt } = useQuery(sessions);
  const [chosen, setChosen] = useState(chatInUrl);
  const list = all.filter(({ archived }) => !archived);
  const [temporary, setTemporary] = useState<TemporaryChat | null>(null);
  const [unfinishedId, setUnfinishedId] = useState(unfinishedOpening);
  const kept = all.find(({ id }) => id === chosen) ?? list[0];
  // The open chat stays open when another one becomes the latest.
  if (kept && kept.id !== chosen) setChosen(kept.id);

  const goTo = (next: TemporaryChat | null) => {
    if (temporary) registry.forget(temporary.id);
    temporary?.drop();
    setTemporary(next);
  };

  const change = (edit: (list: readonly ChatSession[]) => readonly ChatSession[]) =>
    queries.setQueryData(sessions.queryKey, (current) => edit(current ?? NONE));

  const unfinished = temporary ? undefined : all.find(({ id }) => id === unfinishedId && id === kept?.id);

  const select = (id: string) => {
    goTo(null);
    forgetUnfinishedOpening();
    setUnfinishedId(null);
    setChosen(id);
    writeChatToUrl(id, kept?.id);
  };

  const onBack = useEffectEvent(() => {
    const named = chatInUrl();
    if (named === null || named === chosen) return;
    goTo(null);
    setChosen(named);
  });
  useEffect(() => {
    const listener = () => onBack();
    addEventListener("popstate", listener);
    return () => removeEventListener("popstate", listener);
  }, []);

  const creation = useMutation({
    mutationFn: () => createSession(userId),
    onSuccess: (created) => {
      change((current) => [created, ...current.filter(({ id }) => id !== created.id)]);
      select(created.id);
    },
    onError: (error) => toast({ title: t("error.title"), description: error.message, tone: "err" }),
  });

  // There is always a chat to be in: one is made when all others are put away.
  const emptyListAt = isSuccess && list.length === 0 ? dataUpdatedAt : undefined;
  const makesFirst = useRef(false);
  const { mutate: makeFirst } = useMutation({
    mutationFn: () => createSession(userId),
    retry: 2,
    onSuccess: (created) => change((current) => [created, ...current]),
    onError: (error) => toast({ title: t("error.title"), description: error.message, tone: "err" }),
    onSettled: () => (makesFirst.current = false),
  });
  useEffect(() => {
    // Each list that came is a new try, in case the one before has failed.
    if (emptyListAt === undefined || makesFirst.current) return;
    makesFirst.current = true;
    makeFirst();
  }, [emptyListAt, makeFirst]);

  return {
    list,
    archived: all.filter(({ archived }) => archived),
    active: temporary ?? (unfinished ? undefined : kept),
    unfinished,
    loading: isPending,
    temporary,
    creating: creation.isPending,
    registry,
    userId,
    select,
    create: () => creation.mutate(),
    openTemporary: goTo,
    endTemporary: () => goTo(null),
    change,
  };
}
