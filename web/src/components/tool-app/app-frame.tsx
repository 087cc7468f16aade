import { useEffect, useEffectEvent, useLayoutEffect, useRef } from "react";
import type { AppPage } from "./app-calls";
import { type AppEvents, type AppInput, AppSession } from "./app-session";
import { keepAlive, moveBack } from "./iframe-keepalive";

interface AppFrameProps extends AppEvents {
  callId: string;
  page: AppPage;
  /** Browser features that the user has granted. */
  granted: AppPage["permissions"];
  input: AppInput;
  title: string;
  height: number;
  onSession: (session: AppSession) => void;
}

/** Interval at which a hidden app's container is checked for removal. */
const CONNECTED_CHECK_MS = 2_000;

/**
 * Container of an app. The app keeps running while the page's tab is hidden, and ends when the container is removed.
 */
export function AppFrame({ callId, page, granted, input, title, height, ...events }: AppFrameProps) {
  const place = useRef<HTMLDivElement>(null);
  const session = useRef<AppSession>(null);
  const latest = useEffectEvent(() => events);

  const begin = useEffectEvent((at: HTMLElement): AppSession => {
    const { serverName, tool } = events;
    const created = new AppSession(callId, page, granted, input, {
      serverName,
      tool,
      decide: (request) => latest().decide(request),
      sendMessage: (text) => latest().sendMessage(text),
      updateContext: (context) => latest().updateContext(context),
      onReady: () => latest().onReady(),
      onFailed: (why) => latest().onFailed(why),
      onHeight: (next) => latest().onHeight(next),
      onLeave: () => latest().onLeave(),
    });
    created.frame.className = "block size-full border-0";
    events.onSession(created);
    void created.start(at, title);
    return created;
  });

  useLayoutEffect(() => {
    const at = place.current;
    if (at === null) return undefined;
    const current = session.current;
    const { frame } = current ?? (session.current = begin(at));
    if (current !== null) moveBack(frame, at);
    const observer = new ResizeObserver(() => session.current?.resize(at.clientWidth));
    observer.observe(at);
    return () => {
      observer.disconnect();
      keepAlive(frame);
    };
  }, []);

  useEffect(() => {
    const at = place.current;
    const current = session.current;
    return () => {
      if (at?.isConnected !== true) return void current?.end();
      // Only hidden: there is no event if the container is removed later, hence the polling.
      const interval = setInterval(() => {
        const isBack = current?.frame.parentElement === at;
        const isGone = !at.isConnected;
        if (isBack || isGone) clearInterval(interval);
        if (isGone) void current?.end();
      }, CONNECTED_CHECK_MS);
    };
  }, []);

  useEffect(() => session.current?.update(input), [input]);

  return <div ref={place} style={{ height }} className="relative overflow-hidden" />;
}
