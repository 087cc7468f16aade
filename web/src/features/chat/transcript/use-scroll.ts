import { type RefObject, useEffectEvent, useLayoutEffect, useRef, useState } from "react";
import type { ChatStatus } from "../stream/chat-contract";
import type { Jump } from "./jump";
import { ScrollController } from "./scroll-controller";
import { around, inWindow, newer, NEWEST, older, type Window, within } from "./window";

interface Scroll {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly rows: RefObject<HTMLDivElement | null>;
  readonly room: RefObject<HTMLDivElement | null>;
  /** Ids of the mounted messages. */
  readonly visible: readonly string[];
  readonly hiddenBelow: boolean;
  readonly jump: () => void;
  readonly step: (direction: -1 | 1) => void;
}

/** Scroll position of the user, with the number of messages sent so far: sending another returns to the newest. */
interface Place {
  readonly window: Window;
  readonly sentCount: number;
}

/** Connects {@link ScrollController} and the window of mounted messages to the elements of the transcript. */
export function useScroll(status: ChatStatus, loadOlder: () => void, target: Jump | null): Scroll {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const room = useRef<HTMLDivElement>(null);
  const controller = useRef<ScrollController | null>(null);
  const [hiddenBelow, setHiddenBelow] = useState(false);
  const { ids, sentCount } = status;
  const [place, setPlace] = useState<Place>({ window: NEWEST, sentCount });
  const landed = useRef(false);
  const shownSent = useRef(sentCount);
  const wanted = target ? ids.indexOf(target.message) : -1;
  // Computed in each render: state that is set while rendering is lost when a scroll event sets it at the same time.
  const stayed = place.sentCount === sentCount ? within(place.window, ids.length) : NEWEST;
  const window = wanted < 0 ? stayed : around(ids.length - 1 - wanted);
  const moveTo = (next: Window) => {
    if (next !== window) setPlace({ window: next, sentCount });
  };

  const onNearStart = useEffectEvent(() => {
    if (window.from >= ids.length && status.hasOlder) loadOlder();
    moveTo(older(window, ids.length + (status.hasOlder ? 1 : 0)));
  });
  const onNearEnd = useEffectEvent(() => moveTo(newer(window)));
  const onShow = useEffectEvent(({ message, onShown }: Jump) => {
    const row = rows.current?.querySelector<HTMLElement>(`[data-message="${message}"]`);
    if (!row) return;
    setPlace({ window, sentCount });
    controller.current?.show(row);
    onShown(row);
  });

  useLayoutEffect(() => {
    if (!scroller.current || !rows.current || !room.current) return undefined;
    // A tab that was hidden returns to its position.
    controller.current ??= new ScrollController(scroller.current, rows.current, room.current, {
      onState: (state) => setHiddenBelow(state.hiddenBelow),
      onNearStart: () => onNearStart(),
      onNearEnd: () => onNearEnd(),
    });
    return controller.current.connect();
  }, []);

  useLayoutEffect(() => {
    if (ids.length === 0) return;
    if (sentCount !== shownSent.current) controller.current?.showTurn();
    else if (landed.current) controller.current?.settle();
    else controller.current?.land(status.phase !== "idle");
    shownSent.current = sentCount;
    landed.current = true;
  }, [ids, sentCount, status.phase]);

  const isLoaded = wanted >= 0;
  useLayoutEffect(() => {
    if (target && isLoaded) onShow(target);
  }, [target, isLoaded]);

  return {
    scroller,
    rows,
    room,
    visible: inWindow(ids, window),
    hiddenBelow,
    jump: () => {
      moveTo(NEWEST);
      controller.current?.jump();
    },
    step: (direction) => controller.current?.step(direction),
  };
}
