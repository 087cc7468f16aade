import { useEffect, useEffectEvent, useLayoutEffect, useRef } from "react";
import type { AppPage } from "./app-calls";
import { type AppEvents, type AppInput, AppSession } from "./app-session";
import { park, unpark } from "./parking";

interface AppFrameProps extends AppEvents {
  callId: string;
  page: AppPage;
  /** What of the browser the person grants it. */
  granted: AppPage["permissions"];
  input: AppInput;
  title: string;
  height: number;
  onSession: (session: AppSession) => void;
}

/** How often somebody looks whether the place of a hidden app is gone for good, in ms. */
const LOOK_MS = 2_000;

/** The place of an app. While the tab of the page is hidden, the app goes on; when the place goes away, the app ends. */
export function AppFrame({ callId, page, granted, input, title, height, ...events }: AppFrameProps) {
  const place = useRef<HTMLDivElement>(null);
  const session = useRef<AppSession>(null);
  const latest = useEffectEvent(() => events);

  const begin = useEffectEvent((at: HTMLElement): AppSession => {
    const { serverName, tool } = events;
    const own = new AppSession(callId, page, granted, input, {
      serverName,
      tool,
      decide: (wish) => latest().decide(wish),
      say: (text) => latest().say(text),
      keep: (context) => latest().keep(context),
      onReady: () => latest().onReady(),
      onFailed: (why) => latest().onFailed(why),
      onHeight: (next) => latest().onHeight(next),
      onLeave: () => latest().onLeave(),
    });
    own.frame.className = "block size-full border-0";
    events.onSession(own);
    void own.start(at, title);
    return own;
  });

  useLayoutEffect(() => {
    const at = place.current;
    if (at === null) return undefined;
    const own = session.current;
    const { frame } = own ?? (session.current = begin(at));
    if (own !== null) unpark(frame, at);
    const observer = new ResizeObserver(() => session.current?.resize(at.clientWidth));
    observer.observe(at);
    return () => {
      observer.disconnect();
      park(frame);
    };
  }, []);

  useEffect(() => {
    const at = place.current;
    const own = session.current;
    return () => {
      if (at?.isConnected !== true) return void own?.end();
      // It is only hidden. Should its place go away meanwhile, nobody would be told.
      const looking = setInterval(() => {
        const isBack = own?.frame.parentElement === at;
        const isGone = !at.isConnected;
        if (isBack || isGone) clearInterval(looking);
        if (isGone) void own?.end();
      }, LOOK_MS);
    };
  }, []);

  useEffect(() => session.current?.update(input), [input]);

  return <div ref={place} style={{ height }} className="relative overflow-hidden" />;
}
