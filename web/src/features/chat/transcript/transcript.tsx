import { useQuery } from "@tanstack/react-query";
import { ArrowDown } from "lucide-react";
import { Fragment, Suspense, useCallback, useMemo, useRef } from "react";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { buttonClass } from "@/ui/button";
import { ChatId, SendInChat, ToolIconsOf, useChatStatus } from "../chat-context";
import { chatKey } from "../queries";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";
import type { EmptyStateProps } from "./empty-state";
import { MessageRow } from "./message-row";
import type { ScrollTarget } from "./scroll-controller";
import { TurnStatus } from "./turn-status";
import { DaySeparator } from "../time";
import { useOpeningMarker } from "../conversations/opening-marker";
import { useScroll } from "./use-scroll";

/** For fingers, and not before there is something to press. */
const MessageMenu = lazyPart(async () => (await import("../message-actions/message-menu")).MessageMenu);
const QuestionKeys = lazyPart(async () => (await import("./question-keys")).QuestionKeys, true);
/** Most opened chats have messages. */
const EmptyState = lazyPart(async () => (await import("./empty-state")).EmptyState);

interface TranscriptProps extends EmptyStateProps {
  chatId: string;
  store: ChatStore;
  /** Starts a turn; resolves to true if the server accepted it. */
  onTurn: (turn: TurnRequest) => Promise<boolean>;
  /** Message to scroll to, once. */
  scrollTarget: ScrollTarget | null;
}

/** Conversation of a chat, scrolled to its newest messages. */
export function Transcript({ chatId, store, onTurn, scrollTarget, ...empty }: TranscriptProps) {
  const status = useChatStatus(store);
  const { error } = useQuery({
    queryKey: chatKey(chatId),
    queryFn: () => store.open().then(() => true),
    staleTime: 0,
  });
  useOpeningMarker(chatId, status.loaded || error !== undefined);
  const loadingOlder = useRef(false);
  const loadOlder = () => {
    if (loadingOlder.current) return;
    loadingOlder.current = true;
    // The next scroll event tries again.
    store
      .loadOlder()
      .catch((cause: unknown) => console.error("Loading failed:", "messages", cause))
      .finally(() => (loadingOlder.current = false));
  };
  const { scroller, rows, bottomSpacer, visible, hiddenBelow, scrollToEnd } = useScroll(
    status,
    loadOlder,
    scrollTarget,
  );
  const busy = status.phase !== "idle";
  const { tools } = empty;
  const iconsOf = useMemo(() => {
    const found = new Map(
      tools.map(({ serverName, name, pictures, serverPictures }) => [
        `${serverName}/${name}`,
        pictures?.icons.length ? pictures : serverPictures,
      ]),
    );
    return (serverName: string, tool: string) => found.get(`${serverName}/${tool}`);
  }, [tools]);
  const sendMessage = useCallback((message: string) => onTurn({ message }), [onTurn]);
  const isEmpty = status.ids.length === 0 && !busy;

  return (
    <div className="relative min-h-0 max-wide:grid max-wide:grid-cols-[minmax(0,1fr)] max-wide:grid-rows-[minmax(0,1fr)_auto]">
      <div
        ref={scroller}
        role="group"
        aria-label={t("chat.conversation")}
        tabIndex={0}
        className="relative h-full overflow-y-auto overscroll-contain px-5 pt-7 pb-8 [mask-image:linear-gradient(#000_calc(100%-28px),transparent)] [overflow-anchor:none] max-wide:px-3.5 max-wide:pt-5"
      >
        {isEmpty &&
          (status.loaded || error !== null ? (
            <Suspense fallback={<LoadingRows />}>
              <EmptyState {...empty} />
            </Suspense>
          ) : (
            <LoadingRows />
          ))}
        <div
          ref={rows}
          role="log"
          aria-label={t("chat.messages")}
          aria-relevant="additions"
          aria-busy={busy}
          className="mx-auto max-w-measure"
        >
          <ChatId value={chatId}>
            <ToolIconsOf value={iconsOf}>
              <SendInChat value={sendMessage}>
                {visible.map((id) => (
                  <Fragment key={id}>
                    <DaySeparator before={timeBefore(store, id)} moment={store.message(id)?.createdAt} />
                    <MessageRow
                      id={id}
                      store={store}
                      isLast={!busy && id === status.ids.at(-1)}
                      onTurn={onTurn}
                    />
                  </Fragment>
                ))}
              </SendInChat>
            </ToolIconsOf>
          </ChatId>
          <TurnStatus status={status} />
        </div>
        <Suspense>
          <MessageMenu rows={rows} store={store} onTurn={onTurn} />
          <QuestionKeys rows={rows} />
        </Suspense>
        <div ref={bottomSpacer} />
      </div>
      {hiddenBelow && !isEmpty && (
        <button
          type="button"
          onClick={scrollToEnd}
          className={`${buttonClass({ variant: "line", size: "sm" })} absolute bottom-3 left-1/2 -translate-x-1/2 animate-enter shadow-float max-wide:static max-wide:mb-1.5 max-wide:translate-none max-wide:justify-self-center`}
        >
          <ArrowDown aria-hidden="true" />
          {busy ? t("chat.jumpBusy") : t("chat.jump")}
        </button>
      )}
    </div>
  );
}

/** Returns the time of the message before another one; null for a chat's first one, undefined if it is not loaded. */
function timeBefore(store: ChatStore, id: string): string | null | undefined {
  const { ids, hasOlder } = store.status();
  const before = ids[ids.indexOf(id) - 1];
  if (before === undefined) return hasOlder ? undefined : null;
  return store.message(before)?.createdAt;
}

/** Placeholders for messages that are loading, shown only after a delay. */
function LoadingRows() {
  return (
    <div aria-hidden="true" className="mx-auto grid max-w-measure appear-late gap-3.5">
      <div className="h-11 w-3/5 justify-self-end rounded-[18px] bg-sunken" />
      <div className="mt-6 h-4 rounded-sm bg-sunken" />
      <div className="h-4 w-11/12 rounded-sm bg-sunken" />
      <div className="h-4 w-2/3 rounded-sm bg-sunken" />
    </div>
  );
}
