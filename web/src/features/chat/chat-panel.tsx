import { useQueryClient } from "@tanstack/react-query";
import {
  type RefObject,
  Suspense,
  useCallback,
  useEffect,
  useEffectEvent,
  useMemo,
  useRef,
  useState,
} from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { subscribeEvents } from "@/lib/events";
import { lazyPart, withLaterTexts } from "@/lib/lazy-part";
import { type Preview, PreviewHostContext } from "@/lib/open-preview";
import { toastError } from "@/ui/toast";
import { ChatRegistry } from "./chat-registry";
import { Composer, type ComposerHandle } from "./composer/composer";
import type { ComposerOptions } from "./composer/use-composer";
import { ChatHead } from "./conversations/chat-head";
import { ChatSidebar } from "./conversations/chat-sidebar";
import { useSidebar } from "./conversations/sidebar-state";
import { useReadWhileVisible } from "./conversations/unread-chats";
import { useChats } from "./conversations/use-chats";
import { useHeldSender } from "./outbox/held-sender";
import { chatKey, type ChatSession, type MessageHit, queueQuery, shownTitle, titleOf } from "./queries";
import type { TurnRequest } from "./stream/chat-contract";
import type { ChatStore } from "./stream/chat-store";
import type { ScrollTarget } from "./transcript/scroll-controller";
import { Transcript } from "./transcript/transcript";

/** Has nothing to say before the first answer. */
const Announcer = lazyPart(async () => (await import("./transcript/announcer")).Announcer, true);

/** Rarely needed. */
const NoOpenChat = lazyPart(async () => (await import("./conversations/no-open-chat")).NoOpenChat);

interface ChatPanelProps {
  user: { id: string; email: string };
  tools: AvailableTool[];
  /** True if any tool is connected; undefined while the tools load. */
  toolsConnected: boolean | undefined;
  onOpenServers: () => void;
  /** Connects to the built-in toolbox; resolves after the result was shown. */
  onTryToolbox: () => Promise<void>;
  /** Opens the list of public servers; undefined where there is none. */
  onBrowseServers: (() => void) | undefined;
  /** Command from another part of the page; each object is executed once. */
  command: ChatCommand | null;
}

/** The chat tab: the open conversation, the list of chats, and the composer. */
export function ChatPanel({ user, command, ...rest }: ChatPanelProps) {
  const queries = useQueryClient();
  const [registry] = useState(() => new ChatRegistry(queries, user.id));
  useHeldSender(registry);
  const chats = useChats(user.id, registry);
  const chatId = chats.active?.id;
  useReadWhileVisible(chatId);
  const sidebar = useSidebar();
  const [preview, setPreview] = useState<Preview>();
  const hasSidebar = sidebar.fits && !sidebar.hidden;
  const [scrollTarget, setScrollTarget] = useState<ScrollTarget | null>(null);
  const reveal = (target: ScrollTarget) =>
    setScrollTarget({
      ...target,
      onShown: (row) => {
        setScrollTarget(null);
        target.onShown(row);
      },
    });
  const composer = useRef<ComposerHandle>(null);
  const done = useRef<ChatCommand | null>(null);
  /** Chat that is left for a new one, and whether a message is sent as soon as that is open. */
  const leaving = useRef<{ readonly from: string | undefined; submits: boolean } | null>(null);
  const create = () => {
    // An empty chat already is a new chat.
    if (chatId !== undefined && chats.temporary === null && registry.isEmpty(chatId))
      composer.current?.focus();
    else {
      leaving.current = { from: chatId, submits: false };
      chats.create(() => (leaving.current = null));
    }
  };
  const submitLater = () => {
    if (leaving.current) leaving.current.submits = true;
  };
  async function openTemporaryChat(): Promise<void> {
    try {
      const { openTemporary } = await withLaterTexts(() => import("./conversations/temporary-chat"));
      chats.openTemporary(await openTemporary(user.id));
    } catch (error) {
      toastError(error);
    }
  }
  async function revealHit(hit: MessageHit): Promise<void> {
    chats.select(hit.sessionId);
    try {
      const { revealSearchHit } = await import("./conversations/reveal-search-hit");
      reveal(await revealSearchHit(registry.get(hit.sessionId), hit));
    } catch (error) {
      console.error("Loading failed:", "messages", error);
    }
  }
  async function setModel(model: string): Promise<void> {
    if (chatId === undefined) return;
    try {
      const { chooseModel } = await import("./composer/model-choice");
      await chooseModel(queries, chatId, model);
    } catch (error) {
      toastError(error);
    }
  }
  const carryOut = useEffectEvent((wanted: ChatCommand) => {
    if (wanted.type === "new") create();
    else if (wanted.type === "temporary") void openTemporaryChat();
    else if (wanted.type === "open") chats.select(wanted.chatId);
    else if (wanted.type === "reveal") void revealHit(wanted.hit);
    else if (wanted.type === "model") void setModel(wanted.model);
    else if (wanted.type === "focus") composer.current?.focus();
    else composer.current?.fill(wanted.text);
  });

  useEffect(() => {
    // Effects run again when the tab becomes active again; a command is executed once.
    if (chatId === undefined || !command || !composer.current || done.current === command) return;
    done.current = command;
    carryOut(command);
  }, [command, chatId]);

  useEffect(() => {
    const left = leaving.current;
    if (chatId === undefined || chats.creating || !left || chatId === left.from) return;
    leaving.current = null;
    // A new chat starts with the cursor in the message field.
    composer.current?.focus();
    if (left.submits) composer.current?.submit();
  }, [chatId, chats.creating]);

  useEffect(
    () =>
      subscribeEvents((event) => {
        if (event.type === "turn" && event.state === "started")
          registry.onTurnStarted(event.sessionId, event.turnId);
        if (event.type === "turn" && event.state === "ended")
          registry.onTurnEnded(event.sessionId, event.turnId);
        if (event.type === "queue")
          void queries.invalidateQueries({ queryKey: queueQuery(event.sessionId).queryKey });
        if (event.type === "branch") registry.onBranch(event.sessionId);
        if (event.type === "session") {
          const { type: _, sessionId, ...marks } = event;
          registry.onSession(sessionId, marks);
        }
        if (event.type === "open") {
          registry.onSession(undefined, {});
          void queries.invalidateQueries({ queryKey: chatKey() });
        }
      }),
    [queries, registry],
  );

  return (
    <div className="chat-columns h-full" style={{ gridTemplateColumns: hasSidebar ? sidebar.width : "" }}>
      {hasSidebar && <ChatSidebar chats={chats} sidebar={sidebar} onReveal={reveal} />}
      <section
        aria-label={chats.active && shownTitle(chats.active)}
        className="grid h-full min-h-0 grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)_auto]"
      >
        <ChatHead
          chats={chats}
          onNew={create}
          onReveal={reveal}
          onShowSidebar={sidebar.fits && sidebar.hidden ? () => sidebar.setHidden(false) : undefined}
        />
        {!chats.active && (
          <Suspense>
            <NoOpenChat chats={chats} onReveal={reveal} />
          </Suspense>
        )}
        {chats.active && (
          <OpenChat
            key={chats.active.id}
            chat={chats.active}
            chats={chats.list}
            registry={registry}
            composer={composer}
            scrollTarget={scrollTarget}
            onPreview={setPreview}
            submitLater={chats.creating ? submitLater : undefined}
            {...rest}
          />
        )}
      </section>
      {preview && chatId !== undefined && (
        <preview.Panel
          key={preview.id}
          preview={preview}
          chat={registry.get(chatId)}
          onPreview={setPreview}
        />
      )}
    </div>
  );
}

interface OpenChatProps extends Omit<ChatPanelProps, "user" | "command"> {
  chat: ChatSession;
  /** All chats that are not archived. */
  chats: readonly ChatSession[];
  registry: ChatRegistry;
  composer: RefObject<ComposerHandle | null>;
  scrollTarget: ScrollTarget | null;
  onPreview: (preview: Preview) => void;
  submitLater: ComposerOptions["submitLater"];
}

function OpenChat({
  chat,
  chats,
  registry,
  composer,
  tools,
  toolsConnected,
  onOpenServers,
  onTryToolbox,
  onBrowseServers,
  scrollTarget,
  onPreview,
  submitLater,
}: OpenChatProps) {
  const store = registry.get(chat.id);
  const previewHost = useMemo(() => ({ open: onPreview, chat: store }), [onPreview, store]);
  useIsVisible(chat.id, store);
  const fill = useCallback((text: string) => composer.current?.fill(text), [composer]);
  const startTurn = useCallback(
    async (turn: TurnRequest) => (await composer.current?.startTurn(turn)) === true,
    [composer],
  );
  const onSend = (message: string) => {
    // The server derives the title by the same rule; showing it here avoids a wait for its event.
    const { loaded, ids } = store.status();
    const isFirst = loaded && ids.length === 0;
    return () => {
      if (isFirst) registry.rename(chat.id, titleOf(message.trim()));
    };
  };
  return (
    <PreviewHostContext value={previewHost}>
      <Transcript
        chatId={chat.id}
        store={store}
        tools={tools}
        onTurn={startTurn}
        onPrefill={fill}
        onOpenServers={onOpenServers}
        onTryToolbox={onTryToolbox}
        onBrowseServers={onBrowseServers}
        scrollTarget={scrollTarget}
      />
      <Composer
        ref={composer}
        chatId={chat.id}
        store={store}
        tools={tools}
        toolsConnected={toolsConnected}
        onSend={onSend}
        submitLater={submitLater}
      />
      <Suspense>
        <Announcer chatId={chat.id} store={store} chats={chats} />
      </Suspense>
    </PreviewHostContext>
  );
}

/** Command from another part of the page to the chat. */
export type ChatCommand =
  | { readonly type: "new" }
  /** Focuses the message field. */
  | { readonly type: "focus" }
  | { readonly type: "temporary" }
  | { readonly type: "open"; readonly chatId: string }
  /** Opens a chat at a message. */
  | { readonly type: "reveal"; readonly hit: MessageHit }
  /** Lets a model answer in the open chat. */
  | { readonly type: "model"; readonly model: string }
  /** Puts a text into the message field. */
  | { readonly type: "fill"; readonly text: string };

/** Makes a chat follow its turn while its panel and the browser's tab are visible. */
function useIsVisible(chatId: string, store: ChatStore): void {
  const queries = useQueryClient();
  useEffect(() => {
    const look = () => {
      const isVisible = document.visibilityState === "visible";
      store.setVisible(isVisible);
      if (isVisible) void queries.invalidateQueries({ queryKey: chatKey(chatId) });
    };
    store.setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      store.setVisible(false);
    };
  }, [chatId, store, queries]);
}
