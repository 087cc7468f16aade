/** Names the chat that is being opened, so that one that takes the tab down with it is not opened again by itself. */
const STORAGE_KEY = "opening-chat";
/** Names this tab to itself; a tab that crashed has the same name when it is loaded again. */
const TAB_KEY = "opening-tab";
/** How long another tab may take to open a chat before it is taken to have crashed, in ms. */
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
    // A browser that stores nothing for this site.
    return null;
  }
}

/** Notes that a chat is being opened; the function that is returned notes that it is open, or was left. */
export function markOpening(chatId: string): () => void {
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
    // Who reloads a chat that is slow to load has not seen it crash; a crash tells nobody that the page goes.
    addEventListener("pagehide", clear);
    return clear;
  } catch {
    return () => undefined;
  }
}

/** Forgets the marker, for example of a chat that is to be opened all the same. */
export function forgetUnfinishedOpening(): void {
  try {
    localStorage.removeItem(STORAGE_KEY);
  } catch {
    // Nothing was stored.
  }
}
