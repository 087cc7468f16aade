import { useEffect, useLayoutEffect, useRef } from "react";
import { slowParsesSettle } from "@/markdown/slow-parse";

/** Stores which chat is being opened, so that a chat that crashed the tab is not opened again automatically. */
const STORAGE_KEY = "opening-chat";
/** Stores an id of this tab; a tab that is loaded again after a crash has the same one. */
const TAB_KEY = "opening-tab";
/** Time after which a chat that another tab is opening is considered crashed. */
const OPENING_MS = 5_000;

interface Marker {
  chatId: string;
  tab: string;
  startedAt: number;
}

function tabId(): string {
  const known = sessionStorage.getItem(TAB_KEY);
  if (known !== null) return known;
  const id = crypto.getRandomValues(new Uint32Array(2)).join("-");
  sessionStorage.setItem(TAB_KEY, id);
  return id;
}

function read(): Marker | null {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "null") as Marker | null;
  } catch {
    return null;
  }
}

/** Returns the chat whose last opening did not finish, if there is one. */
export function unfinishedOpening(): string | null {
  try {
    const marker = read();
    if (marker === null) return null;
    const isOpeningElsewhere = marker.tab !== tabId() && Date.now() - marker.startedAt < OPENING_MS;
    return isOpeningElsewhere ? null : marker.chatId;
  } catch {
    // This browser blocks storage for the site.
    return null;
  }
}

/** Records that a chat is being opened; the returned function records that it is open or was left. */
function markOpening(chatId: string): () => void {
  try {
    const tab = tabId();
    localStorage.setItem(
      STORAGE_KEY,
      JSON.stringify({ chatId, tab, startedAt: Date.now() } satisfies Marker),
    );
    const clear = () => {
      removeEventListener("pagehide", clear);
      if (read()?.tab === tab) localStorage.removeItem(STORAGE_KEY);
    };
    // A reload of a slow chat is no crash; a crash fires no event.
    addEventListener("pagehide", clear);
    return clear;
  } catch {
    return () => undefined;
  }
}

/** Removes the marker, for example when the user opens the chat nevertheless. */
export function forgetUnfinishedOpening(): void {
  try {
    localStorage.removeItem(STORAGE_KEY);
  } catch {
    // Nothing was stored.
  }
}

/** Waits until the browser has painted the current content. */
function nextPaint(): Promise<void> {
  return new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
}

/** Marks a chat as being opened until its messages have been painted. */
export function useOpeningMarker(chatId: string, loaded: boolean): void {
  const clear = useRef<() => void>(undefined);
  useLayoutEffect(() => {
    clear.current = markOpening(chatId);
    return () => clear.current?.();
  }, [chatId]);
  useEffect(() => {
    if (!loaded) return;
    // A hidden tab paints nothing, so nothing can crash while painting.
    if (document.hidden) return clear.current?.();
    const own = clear.current;
    void nextPaint()
      .then(slowParsesSettle)
      .then(nextPaint)
      .then(() => own?.());
  }, [loaded]);
}
