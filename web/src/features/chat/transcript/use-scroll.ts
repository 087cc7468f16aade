import { type RefObject, useEffectEvent, useLayoutEffect, useRef, useState } from "react";
import type { ChatStatus } from "../stream/chat-contract";
import { type ScrollTarget, ScrollController } from "./scroll-controller";
import { around, inWindow, newer, NEWEST_WINDOW, older, type MountedWindow, within } from "./mounted-window";

interface TranscriptScroll {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly rows: RefObject<HTMLDivElement | null>;
  readonly bottomSpacer: RefObject<HTMLDivElement | null>;
  /** Ids of the mounted messages. */
  readonly visible: readonly string[];
  readonly hiddenBelow: boolean;
  readonly scrollToEnd: () => void;
}

/** Scroll position of the user, with the number of messages sent so far: sending another returns to the newest. */
interface Position {
  readonly window: MountedWindow;
  readonly sentCount: number;
}

/** Connects {@link ScrollController} and the window of mounted messages to the elements of the transcript. */
export function useScroll(
  status: ChatStatus,
  loadOlder: () => void,
  target: ScrollTarget | null,
): TranscriptScroll {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const bottomSpacer = useRef<HTMLDivElement>(null);
  const controller = useRef<ScrollController | null>(null);
  const [hiddenBelow, setHiddenBelow] = useState(false);
  const { ids, sentCount } = status;
  const [place, setPlace] = useState<Position>({ window: NEWEST_WINDOW, sentCount });
  const isRestored = useRef(false);
  const shownSent = useRef(sentCount);
  const targetIndex = target ? ids.indexOf(target.message) : -1;
  // Computed in each render: state that is set while rendering is lost when a scroll event sets it at the same time.
  const keptWindow = place.sentCount === sentCount ? within(place.window, ids.length) : NEWEST_WINDOW;
  const window = targetIndex < 0 ? keptWindow : around(ids.length - 1 - targetIndex);
  const moveTo = (next: MountedWindow) => {
    if (next !== window) setPlace({ window: next, sentCount });
  };

  const onNearStart = useEffectEvent(() => {
    if (window.from >= ids.length && status.hasOlder) loadOlder();
    moveTo(older(window, ids.length + (status.hasOlder ? 1 : 0)));
  });
  const onNearEnd = useEffectEvent(() => moveTo(newer(window)));
  const onShow = useEffectEvent(({ message, onShown }: ScrollTarget) => {
    const row = rows.current?.querySelector<HTMLElement>(`[data-message="${message}"]`);
    if (!row) return;
    setPlace({ window, sentCount });
    controller.current?.scrollToMessage(row);
    onShown(row);
  });

  useLayoutEffect(() => {
    if (!scroller.current || !rows.current || !bottomSpacer.current) return undefined;
    // A tab that was hidden returns to its position.
    controller.current ??= new ScrollController(scroller.current, rows.current, bottomSpacer.current, {
      onState: (state) => setHiddenBelow(state.hiddenBelow),
      onNearStart: () => onNearStart(),
      onNearEnd: () => onNearEnd(),
    });
    return controller.current.connect();
  }, []);

  useLayoutEffect(() => {
    if (ids.length === 0) return;
    if (sentCount !== shownSent.current) controller.current?.showTurn();
    else if (isRestored.current) controller.current?.settle();
    else controller.current?.restorePosition(status.phase !== "idle");
    shownSent.current = sentCount;
    isRestored.current = true;
  }, [ids, sentCount, status.phase]);

  const isLoaded = targetIndex >= 0;
  useLayoutEffect(() => {
    if (target && isLoaded) onShow(target);
  }, [target, isLoaded]);

  return {
    scroller,
    rows,
    bottomSpacer,
    visible: inWindow(ids, window),
    hiddenBelow,
    scrollToEnd: () => {
      moveTo(NEWEST_WINDOW);
      controller.current?.scrollToEnd();
    },
  };
}
