/** Range of mounted messages, counted from the newest, so that it stays valid when older ones are loaded. */
export interface MountedWindow {
  /** Number of newer messages after the window; 0 if it includes the newest. */
  readonly to: number;
  /** Number of messages from the newest to the start of the window. */
  readonly from: number;
}

const STEP_MESSAGES = 30;
const MAX_MOUNTED_MESSAGES = 150;

/** MountedWindow with the newest messages. */
export const NEWEST_WINDOW: MountedWindow = { from: STEP_MESSAGES, to: 0 };

/** Returns the window one step further back, if there are as many messages. */
export function older(window: MountedWindow, count: number): MountedWindow {
  if (window.from >= count) return window;
  const from = window.from + STEP_MESSAGES;
  return { from, to: Math.max(window.to, from - MAX_MOUNTED_MESSAGES) };
}

/** Returns the window one step closer to the newest messages. */
export function newer(window: MountedWindow): MountedWindow {
  if (window.to === 0) return window;
  const to = Math.max(0, window.to - STEP_MESSAGES);
  return { from: Math.min(window.from, to + MAX_MOUNTED_MESSAGES), to };
}

/** Returns the window around the message with `place` newer ones. */
export function around(newerCount: number): MountedWindow {
  return { from: newerCount + STEP_MESSAGES, to: Math.max(0, newerCount - STEP_MESSAGES) };
}

/** Returns the window if it contains any of `count` messages, else the newest: the list may have become shorter. */
export function within(window: MountedWindow, count: number): MountedWindow {
  return window.to < count ? window : NEWEST_WINDOW;
}

/** Returns the part of a list that is in the window. */
export function inWindow<Item>(list: readonly Item[], { from, to }: MountedWindow): readonly Item[] {
  return list.slice(Math.max(0, list.length - from), list.length - to);
}
