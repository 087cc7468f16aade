/**
 * Which messages are mounted, counted from the newest: a place from the end stays the same when older ones are loaded.
 */
export interface Window {
  /** How many of the newest are before the end of the window; 0 when it reaches to the newest. */
  readonly to: number;
  /** How many of the newest are before its start. */
  readonly from: number;
}

const STEP = 30;
const MOST = 150;

/** The newest messages. */
export const NEWEST: Window = { from: STEP, to: 0 };

/** The window one step further back, at most as far as there are messages. */
export function older(window: Window, count: number): Window {
  if (window.from >= count) return window;
  const from = window.from + STEP;
  return { from, to: Math.max(window.to, from - MOST) };
}

/** The window one step further on. */
export function newer(window: Window): Window {
  if (window.to === 0) return window;
  const to = Math.max(0, window.to - STEP);
  return { from: Math.min(window.from, to + MOST), to };
}

/** The window around a message that so many newer ones follow. */
export function around(place: number): Window {
  return { from: place + STEP, to: Math.max(0, place - STEP) };
}

/** The window where it shows something of so many messages, else the newest: the list may have become shorter. */
export function within(window: Window, count: number): Window {
  return window.to < count ? window : NEWEST;
}

/** The part of a list that is in the window. */
export function inWindow<Item>(list: readonly Item[], { from, to }: Window): readonly Item[] {
  return list.slice(Math.max(0, list.length - from), list.length - to);
}
