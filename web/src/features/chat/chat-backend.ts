import type { AppContext } from "@/components/tool-app/app-host";
import { authorizedFetch, callApi, jsonBody } from "@/lib/api-client";
import { pause } from "@/lib/backoff";
import { forgetAfter } from "@/lib/user-data";
import { loadPage, loadSince } from "./queries";
import type { ChatBackend } from "./stream/chat-contract";

const EVENT_STREAM = "text/event-stream";

/** Implements {@link ChatBackend} with the network, the clock and the browser's animation frames. */
export function chatBackend(sessionId: string): ChatBackend {
  const path = `/api/sessions/${encodeURIComponent(sessionId)}`;
  return {
    send: async ({ attachments = [], ...turn }, tools, signal) => {
      const contexts = appContexts.get(sessionId);
      const { headers, ...rest } = jsonBody({
        ...turn,
        sessionId,
        tools,
        ...(contexts && { contexts: [...contexts.values()] }),
        ...(attachments.length > 0 && { attachments: attachments.map(({ id }) => id) }),
      });
      const response = await authorizedFetch("/functions/v1/ai-chat", {
        ...rest,
        headers: { ...headers, accept: EVENT_STREAM },
        signal,
      });
      // A context that changed during the request goes with the next message.
      if (response.ok && appContexts.get(sessionId) === contexts) appContexts.delete(sessionId);
      return response;
    },
    resume: (lastEventId, signal, turnId) => {
      const after = lastEventId === "" ? {} : { "last-event-id": lastEventId };
      const turn = turnId === undefined ? "" : `?turn=${turnId}`;
      return authorizedFetch(`${path}/stream${turn}`, {
        headers: { accept: EVENT_STREAM, ...after },
        signal,
      });
    },
    stop: async () => {
      await callApi(`${path}/stop`, { method: "POST" });
    },
    loadPage: (before, count) => loadPage(sessionId, before, count),
    loadSince: (from) => loadSince(sessionId, from),
    wait: pause,
    nextFrame,
    random: Math.random,
    now: Date.now,
  };
}

/** Time between updates of a hidden page, which has no animation frames. */
const HIDDEN_FRAME_MS = 250;

function nextFrame(callback: () => void): () => void {
  if (document.visibilityState === "hidden") {
    const timer = setTimeout(callback, HIDDEN_FRAME_MS);
    return () => clearTimeout(timer);
  }
  const frame = requestAnimationFrame(callback);
  // A tab that is hidden before its next frame would otherwise stall until it is visible again.
  const timer = setTimeout(callback, HIDDEN_FRAME_MS);
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
}

/** Latest context of each app for the model, by chat id and tool call id. It goes with the next message. */
export const appContexts = new Map<string, ReadonlyMap<string, AppContext>>();
forgetAfter("session", () => appContexts.clear());

/**
 * Stores the latest context of a call's app. The map is replaced on each change, so that a sender can detect newer
 * contexts.
 */
export function storeAppContext(chatId: string, callId: string, context: AppContext): void {
  appContexts.set(chatId, new Map(appContexts.get(chatId)).set(callId, context));
}
