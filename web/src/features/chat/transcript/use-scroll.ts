import { type RefObject, useEffectEvent, useLayoutEffect, useRef, useState } from "react";
import type { ChatStatus } from "../stream/chat-contract";
import type { Jump } from "./jump";
import { ScrollController } from "./scroll-controller";
import { around, inWindow, newer, NEWEST, older } from "./window";

interface Scroll {
  readonly scroller: RefObject<HTMLDivElement | null>;
  readonly rows: RefObject<HTMLDivElement | null>;
  readonly room: RefObject<HTMLDivElement | null>;
  /** The messages that are mounted. */
  readonly visible: readonly string[];
  readonly hiddenBelow: boolean;
  readonly jump: () => void;
  readonly step: (direction: -1 | 1) => void;
}

/** Ties the scroll rules and the window of mounted messages to the transcript's elements. */
export function useScroll(status: ChatStatus, loadOlder: () => void, target: Jump | null): Scroll {
  const scroller = useRef<HTMLDivElement>(null);
  const rows = useRef<HTMLDivElement>(null);
  const room = useRef<HTMLDivElement>(null);
  const controller = useRef<ScrollController | null>(null);
  const [hiddenBelow, setHiddenBelow] = useState(false);
  const [window, setWindow] = useState(NEWEST);
  const [seenSent, setSeenSent] = useState(status.sent);
  const [seenTarget, setSeenTarget] = useState<Jump | null>(null);
  const landed = useRef(false);
  const shownSent = useRef(status.sent);
  const { ids, sent } = status;
  if (sent !== seenSent) {
    setSeenSent(sent);
    setWindow(NEWEST);
  }
  if (target !== seenTarget) {
    setSeenTarget(target);
    if (target) setWindow(around(ids.length - 1 - ids.indexOf(target.message)));
  }

  const onNearStart = useEffectEvent(() => {
    if (window.from >= ids.length && status.hasOlder) loadOlder();
    setWindow((current) => older(current, ids.length + (status.hasOlder ? 1 : 0)));
  });

  useLayoutEffect(() => {
    if (!scroller.current || !rows.current || !room.current) return undefined;
    // A hidden tab comes back to the place it had.
    controller.current ??= new ScrollController(scroller.current, rows.current, room.current, {
      onState: (state) => setHiddenBelow(state.hiddenBelow),
      onNearStart: () => onNearStart(),
      onNearEnd: () => setWindow(newer),
    });
    return controller.current.connect();
  }, []);

  useLayoutEffect(() => {
    if (ids.length === 0) return;
    if (sent !== shownSent.current) controller.current?.showTurn();
    else if (landed.current) controller.current?.settle();
    else controller.current?.land(status.phase !== "idle");
    shownSent.current = sent;
    landed.current = true;
  }, [ids, sent, status.phase]);

  useLayoutEffect(() => {
    const row = target && rows.current?.querySelector<HTMLElement>(`[data-message="${target.message}"]`);
    if (!row) return;
    controller.current?.show(row);
    target.onShown(row);
  }, [target]);

  return {
    scroller,
    rows,
    room,
    visible: inWindow(ids, window),
    hiddenBelow,
    jump: () => {
      setWindow(NEWEST);
      controller.current?.jump();
    },
    step: (direction) => controller.current?.step(direction),
  };
}
