import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useState } from "react";
import { toastError } from "@/ui/toast";
import type { ChatRegistry } from "../chat-registry";
import { moveDraft, readDraft } from "../composer/draft";
import { pushChatToUrl, replaceChatInUrl, useChatInUrl } from "./chat-url";
import { forgetUnfinishedOpening, unfinishedOpening } from "./opening-marker";
import { type ChatSession, createSession, sessionsQuery } from "../queries";

/** Chat that is never stored. */
export interface TemporaryChat extends ChatSession {
  /** Deletes the chat on the server. */
  readonly drop: () => void;
}

export interface Chats {
  /** Chats that are not archived, the latest first. */
  readonly list: readonly ChatSession[];
  /** Archived chats, the latest first. */
  readonly archived: readonly ChatSession[];
  readonly active: ChatSession | undefined;
  /** Chat that is not opened automatically because its last opening did not finish. */
  readonly unfinished: ChatSession | undefined;
  /** True if the list is still loading. */
  readonly loading: boolean;
  /** The open chat if it is a temporary one. */
  readonly temporary: TemporaryChat | null;
  /** True if a chat is being created. */
  readonly creating: boolean;
  readonly registry: ChatRegistry;
  readonly userId: string;
  readonly select: (id: string) => void;
  /** Creates a chat and opens it. */
  readonly create: (onError?: () => void) => void;
  /** Opens a temporary chat. Leaving it deletes it. */
  readonly openTemporary: (chat: TemporaryChat) => void;
  readonly endTemporary: () => void;
  /** Updates the shown list after a change that the server has made. */
  readonly change: (edit: (list: readonly ChatSession[]) => readonly ChatSession[]) => void;
}

const NO_CHATS: readonly ChatSession[] = [];

/** Returns the user's chats and the open one: the one in the URL, else the latest. */
export function useChats(userId: string, registry: ChatRegistry): Chats {
  const queries = useQueryClient();
  const sessions = sessionsQuery(userId);
  const { data: all = NO_CHATS, isPending, isSuccess, dataUpdatedAt } = useQuery(sessions);
  const named = useChatInUrl();
  const [unnamed, setUnnamed] = useState<string>();
  const list = all.filter(({ archived }) => !archived);
  const [temporary, setTemporary] = useState<TemporaryChat | null>(null);
  const [unfinishedId, setUnfinishedId] = useState(unfinishedOpening);
  const kept = all.find(({ id }) => id === (named ?? unnamed)) ?? list[0];
  // The open chat stays open when another one becomes the latest.
  if (named === null && kept && kept.id !== unnamed) setUnnamed(kept.id);

  const showTemporary = (next: TemporaryChat | null) => {
    if (temporary) registry.forget(temporary.id);
    temporary?.drop();
    setTemporary(next);
  };

  const change = (edit: (list: readonly ChatSession[]) => readonly ChatSession[]) =>
    queries.setQueryData(sessions.queryKey, (current) => edit(current ?? NO_CHATS));

  const unfinished = temporary ? undefined : all.find(({ id }) => id === unfinishedId && id === kept?.id);

  const select = (id: string) => {
    showTemporary(null);
    forgetUnfinishedOpening();
    setUnfinishedId(null);
    pushChatToUrl(id, kept?.id);
  };

  const leaveTemporary = useEffectEvent(() => showTemporary(null));
  const lastNamed = useRef(named);
  const keptId = kept?.id;
  useEffect(() => {
    // Back and Forward lead from a temporary chat to the chat of the URL.
    if (named !== lastNamed.current) leaveTemporary();
    // The named chat does not exist, or was deleted; the URL names the one that is shown instead.
    const isGone = named !== null && keptId !== undefined && keptId !== named;
    if (isGone) replaceChatInUrl(keptId);
    lastNamed.current = isGone ? keptId : named;
  }, [named, keptId]);

  const openId = (temporary ?? kept)?.id ?? "";
  const creation = useMutation({
    mutationFn: () => createSession(userId),
    // What is written from here on is for the new chat.
    onMutate: () => ({ openId, draft: readDraft(openId) }),
    onSuccess: (created, _, before) => {
      moveDraft(before.openId, before.draft, created.id);
      change((current) => [created, ...current.filter(({ id }) => id !== created.id)]);
      select(created.id);
    },
    onError: toastError,
  });

  // There is always an open chat: a new one is created when all others are archived or deleted.
  const emptyListAt = isSuccess && list.length === 0 ? dataUpdatedAt : undefined;
  const makesFirst = useRef(false);
  const { mutate: makeFirst } = useMutation({
    mutationFn: () => createSession(userId),
    retry: 2,
    onSuccess: (created) => change((current) => [created, ...current]),
    onError: toastError,
    onSettled: () => (makesFirst.current = false),
  });
  useEffect(() => {
    // Try again with every loaded list, in case the previous attempt failed.
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
    create: (onError) => creation.mutate(undefined, onError && { onError }),
    openTemporary: showTemporary,
    endTemporary: () => showTemporary(null),
    change,
  };
}
