import { useQueryClient } from "@/lib/query/use-query";
import { type RefObject, useCallback, useEffect, useRef, useState } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { subscribeEvents } from "@/lib/events";
import { type ChatSession, sessionsQuery, titleOf } from "./api/sessions";
import { ChatRegistry } from "./chat-registry";
import { Composer, type ComposerHandle } from "./composer/composer";
import { ChatHead } from "./conversations/chat-head";
import { chatsMenuId } from "./conversations/chats-menu";
import { useChats } from "./conversations/use-chats";
import type { TurnRequest } from "./stream/chat-contract";
import type { Jump } from "./transcript/jump";
import { Transcript } from "./transcript/transcript";
import { useShortcuts } from "./use-shortcuts";

interface ChatPanelProps {
  user: { id: string; email: string };
  tools: AvailableTool[];
  /** Whether any tool is connected; undefined while that is not known yet. */
  toolsConnected: boolean | undefined;
  onOpenServers: () => void;
  /** A text that another part of the page puts into the composer. */
  prefill: { text: string; nonce: number } | null;
}

/** The chat: the open conversation, the others, and the composer. */
export function ChatPanel({ user, prefill, ...rest }: ChatPanelProps) {
  const queries = useQueryClient();
  const [registry] = useState(() => new ChatRegistry(queries, user.id));
  const chats = useChats(user.id, registry);
  const chatId = chats.active?.id;
  const [jump, setJump] = useState<Jump | null>(null);
  const jumpTo = (target: Jump) =>
    setJump({
      ...target,
      onShown: (row) => {
        setJump(null);
        target.onShown(row);
      },
    });
  const composer = useRef<ComposerHandle>(null);
  const prefilled = useRef<number | null>(null);
  const startsChat = useRef(false);
  const create = () => {
    startsChat.current = true;
    chats.create();
  };
  useShortcuts({
    onNew: create,
    onFocus: () => composer.current?.focus(),
    onFind: () => document.getElementById(chatsMenuId)?.click(),
  });

  useEffect(() => {
    // Effects run again when the tab comes back; a text is put into the field once.
    if (chatId === undefined || !prefill || !composer.current || prefilled.current === prefill.nonce) return;
    prefilled.current = prefill.nonce;
    composer.current.fill(prefill.text);
  }, [prefill, chatId]);

  useEffect(() => {
    // Who begins a chat wants to write in it.
    if (chatId === undefined || !startsChat.current) return;
    startsChat.current = false;
    composer.current?.focus();
  }, [chatId]);

  useEffect(
    () =>
      subscribeEvents((event) => {
        if (event.type === "run" && event.state === "started")
          registry.onRunStarted(event.sessionId, event.runId);
        if (event.type === "queue") void queries.invalidateQueries({ queryKey: ["queue", event.sessionId] });
        if (event.type === "branch") registry.onBranch(event.sessionId);
        if (event.type === "session" || event.type === "open")
          void queries.invalidateQueries({ queryKey: sessionsQuery(user.id).queryKey });
        // Another tab may have chosen another model.
        if (event.type === "session" || event.type === "open")
          void queries.invalidateQueries({ queryKey: ["chat-model"] });
        if (event.type === "open") void queries.invalidateQueries({ queryKey: ["chat"] });
      }),
    [queries, registry, user.id],
  );

  return (
    <section
      aria-label={chats.active?.title}
      className="grid h-full min-h-0 grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)_auto]"
    >
      <ChatHead chats={chats} onNew={create} onJump={jumpTo} />
      {chats.active && (
        <OpenChat
          key={chats.active.id}
          chat={chats.active}
          registry={registry}
          composer={composer}
          jumpTo={jump}
          {...rest}
        />
      )}
    </section>
  );
}

interface OpenChatProps extends Omit<ChatPanelProps, "user" | "prefill"> {
  chat: ChatSession;
  registry: ChatRegistry;
  composer: RefObject<ComposerHandle | null>;
  jumpTo: Jump | null;
}

function OpenChat({ chat, registry, composer, tools, toolsConnected, onOpenServers, jumpTo }: OpenChatProps) {
  const store = registry.get(chat.id);
  const fill = useCallback((text: string) => composer.current?.fill(text), [composer]);
  const take = useCallback(
    async (turn: TurnRequest) => (await composer.current?.take(turn)) === true,
    [composer],
  );
  const onSend = (message: string) => {
    // The server names the chat by the same rule; the name shows without waiting for it.
    const { loaded, ids } = store.status();
    if (loaded && ids.length === 0) registry.rename(chat.id, titleOf(message.trim()));
  };
  return (
    <>
      <Transcript
        chatId={chat.id}
        store={store}
        tools={tools}
        onTurn={take}
        onPrefill={fill}
        onOpenServers={onOpenServers}
        jumpTo={jumpTo}
      />
      <Composer
        ref={composer}
        chatId={chat.id}
        store={store}
        tools={tools}
        toolsConnected={toolsConnected}
        onSend={onSend}
      />
    </>
  );
}
