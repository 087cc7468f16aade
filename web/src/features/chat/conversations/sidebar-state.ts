import { useState } from "react";
import { useMedia } from "@/lib/use-media";

const STORAGE_KEY = "sidebar";
const SIDEBAR_MEDIA = "(width >= 1200px)";

export const MIN_SIDEBAR_PX = 220;
export const MAX_SIDEBAR_PX = 440;
const DEFAULT_SIDEBAR_PX = 272;

interface StoredSidebar {
  width: number;
  hidden: boolean;
}

/** State of the sidebar with the chats, remembered by the browser. */
export interface Sidebar extends StoredSidebar {
  /** True if the window is wide enough for it. */
  readonly fits: boolean;
  readonly setHidden: (hidden: boolean) => void;
  readonly setWidth: (width: number) => void;
}

/** Returns a width within the limits, in whole pixels. */
export function clampWidth(width: number): number {
  return Math.round(Math.min(MAX_SIDEBAR_PX, Math.max(MIN_SIDEBAR_PX, width)));
}

function readStored(): StoredSidebar {
  try {
    const stored = JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}") as Partial<StoredSidebar>;
    const width = Number.isFinite(stored.width) ? Number(stored.width) : DEFAULT_SIDEBAR_PX;
    return { width: clampWidth(width), hidden: stored.hidden === true };
  } catch {
    return { width: DEFAULT_SIDEBAR_PX, hidden: false };
  }
}

/** Returns the state of the sidebar. Read at once, so that its room is there from the first paint. */
export function useSidebar(): Sidebar {
  const [state, setState] = useState(readStored);
  const fits = useMedia(SIDEBAR_MEDIA);
  function change(next: StoredSidebar): void {
    setState(next);
    try {
      localStorage.setItem(STORAGE_KEY, JSON.stringify(next));
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  }
  return {
    ...state,
    fits,
    setHidden: (hidden) => change({ ...state, hidden }),
    setWidth: (width) => change({ ...state, width: clampWidth(width) }),
  };
}
