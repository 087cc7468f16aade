/** Range of mounted messages, counted from the newest, so that it stays valid when older ones are loaded. */
export interface Window {
  /** Number of newer messages after the window; 0 if it includes the newest. */
  readonly to: number;
  /** Number of messages from the newest to the start of the window. */
  readonly from: number;
}

const STEP = 30;
const MOST = 150;

/** Window with the newest messages. */
export const NEWEST: Window = { from: STEP, to: 0 };

/** Returns the window one step further back, if there are as many messages. */
export function older(window: Window, count: number): Window {
  if (window.from >= count) return window;
  const from = window.from + STEP;
  return { from, to: Math.max(window.to, from - MOST) };
}

/** Returns the window one step closer to the newest messages. */
export function newer(window: Window): Window {
  if (window.to === 0) return window;
  const to = Math.max(0, window.to - STEP);
  return { from: Math.min(window.from, to + MOST), to };
}

/** Returns the window around the message with `place` newer ones. */
export function around(place: number): Window {
  return { from: place + STEP, to: Math.max(0, place - STEP) };
}

/** Returns the window if it contains any of `count` messages, else the newest: the list may have become shorter. */
export function within(window: Window, count: number): Window {
  return window.to < count ? window : NEWEST;
}

/** Returns the part of a list that is in the window. */
export function inWindow<Item>(list: readonly Item[], { from, to }: Window): readonly Item[] {
  return list.slice(Math.max(0, list.length - from), list.length - to);
}
