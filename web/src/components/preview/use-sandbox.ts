import { type RefObject, useEffect, useEffectEvent, useRef } from "react";
import { isObject, type JsonObject } from "@/lib/json";

/** Address of the frame, whose response has the policy: an opaque origin, inline scripts, no network. */
export const SANDBOX_URL = "/sandbox/preview";
const MESSAGE = "ui/notifications/sandbox-";

interface Sandbox {
  frame: RefObject<HTMLIFrameElement | null>;
  /** Sends a message to the page in the sandbox. */
  send: (message: object) => void;
}

/**
 * Puts a page into the sandbox of MCP Apps, and receives the messages of that page, which can say anything. A frame
 * shows one page; another page needs another `key`.
 */
export function useSandbox(html: string, onMessage?: (message: JsonObject) => void): Sandbox {
  const frame = useRef<HTMLIFrameElement>(null);
  const receive = useEffectEvent((message: JsonObject) => onMessage?.(message));
  // The frame has no origin that could be named.
  const send = (message: object) => frame.current?.contentWindow?.postMessage(message, "*");
  useEffect(() => {
    const onWindowMessage = ({ source, data }: MessageEvent<unknown>) => {
      const target = frame.current?.contentWindow;
      if (!target || source !== target || !isObject(data)) return;
      if (data["method"] === `${MESSAGE}proxy-ready`)
        target.postMessage({ jsonrpc: "2.0", method: `${MESSAGE}resource-ready`, params: { html } }, "*");
      else receive(data);
    };
    addEventListener("message", onWindowMessage);
    return () => removeEventListener("message", onWindowMessage);
  }, [html]);
  return { frame, send };
}
