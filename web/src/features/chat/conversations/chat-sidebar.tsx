import { type KeyboardEvent, type PointerEvent, Suspense, useRef } from "react";
import { t } from "@/lib/t";
import type { ScrollTarget } from "../transcript/scroll-controller";
import { ChatList, showSidebarId } from "./chats-menu";
import { MAX_SIDEBAR_PX, MIN_SIDEBAR_PX, type Sidebar } from "./sidebar-state";
import type { Chats } from "./use-chats";

/** Change of the width by an arrow key. */
const KEY_STEP_PX = 16;

interface ChatSidebarProps {
  chats: Chats;
  sidebar: Sidebar;
  onReveal: (jump: ScrollTarget) => void;
}

/** Sidebar with the chats. Its room is taken at once, and the list in it is loaded after the conversation. */
export function ChatSidebar({ chats, sidebar, onReveal }: ChatSidebarProps) {
  function hide(): void {
    sidebar.setHidden(true);
    requestAnimationFrame(() => document.getElementById(showSidebarId)?.focus());
  }
  return (
    <aside aria-label={t("chat.sidebar")} className="relative min-h-0 border-r border-line bg-sunken">
      <h2 className="sr-only">{t("chat.sidebar")}</h2>
      {!chats.loading && (
        <Suspense>
          <ChatList chats={chats} onReveal={onReveal} onHide={hide} />
        </Suspense>
      )}
      <ResizeHandle sidebar={sidebar} />
    </aside>
  );
}

/** Separator that resizes the sidebar by pointer and by arrow keys, Home and End. */
function ResizeHandle({ sidebar: { width, setWidth } }: { sidebar: Sidebar }) {
  const drag = useRef<{ x: number; width: number } | null>(null);
  function onKeyDown(event: KeyboardEvent): void {
    const widths: Record<string, number> = {
      ArrowLeft: width - KEY_STEP_PX,
      ArrowRight: width + KEY_STEP_PX,
      Home: MIN_SIDEBAR_PX,
      End: MAX_SIDEBAR_PX,
    };
    const next = widths[event.key];
    if (next === undefined) return;
    event.preventDefault();
    setWidth(next);
  }
  function onPointerDown(event: PointerEvent): void {
    event.currentTarget.setPointerCapture(event.pointerId);
    drag.current = { x: event.clientX, width };
  }
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={t("chat.sidebar.width")}
      aria-valuenow={width}
      aria-valuemin={MIN_SIDEBAR_PX}
      aria-valuemax={MAX_SIDEBAR_PX}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerMove={({ clientX }) => {
        if (drag.current) setWidth(drag.current.width + clientX - drag.current.x);
      }}
      onLostPointerCapture={() => (drag.current = null)}
      className="absolute inset-y-0 -right-1 z-10 w-2 cursor-col-resize touch-none after:absolute after:inset-y-0 after:left-[3px] after:w-0.5 after:transition-colors hover:after:bg-line-strong focus-visible:outline-none focus-visible:after:bg-accent active:after:bg-accent"
    />
  );
}
