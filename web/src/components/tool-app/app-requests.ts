import type { AppBridge } from "@modelcontextprotocol/ext-apps/app-bridge";
import { isObject, type JsonObject } from "@/lib/json";
import { webAddress } from "@/lib/safe-url";
import {
  type AppAnswer,
  type AppApprovalRequest,
  type AppConsent,
  callForApp,
  readForApp,
} from "./app-calls";
import type { AppContext } from "./app-host";

/** Request of an app that the user decides on. */
export type AppPermissionRequest =
  | {
      readonly kind: "tool";
      readonly name: string;
      readonly input: unknown;
      readonly ask: AppApprovalRequest;
    }
  | { readonly kind: "link"; readonly url: URL }
  | { readonly kind: "message"; readonly text: string };

/** Dependencies of {@link answerRequests}. */
export interface AppRequests {
  readonly serverName: string;
  readonly tool: string;
  /** Asks the user; without a decision the request is denied. */
  decide(request: AppPermissionRequest): Promise<AppConsent["decision"]>;
  /** Sends a message as the user; resolves to true if it was accepted. */
  sendMessage(text: string): Promise<boolean>;
  /** Replaces the context for the model's next turn. */
  updateContext(context: AppContext): void;
}

/** Concurrent requests of one app. */
const MAX_CONCURRENT_REQUESTS = 8;
/** Longer messages are cut. */
const MAX_MESSAGE_CHARS = 20_000;
/** Maximum size of a context as JSON; larger ones are rejected. */
const MAX_CONTEXT_CHARS = 32_000;

/**
 * Answers an app's requests: tools and resources through our server, the rest with the user's consent. The result
 * resolves when no request is pending.
 */
export function answerRequests(
  bridge: AppBridge,
  ended: AbortSignal,
  host: AppRequests,
): () => Promise<unknown> {
  const open = new Set<Promise<unknown>>();
  function one<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    if (open.size >= MAX_CONCURRENT_REQUESTS) return Promise.reject(new Error("Too many requests at once."));
    const answer = work();
    const settled: Promise<unknown> = answer.then(
      () => open.delete(settled),
      () => open.delete(settled),
    );
    open.add(settled);
    return answer;
  }

  bridge.oncalltool = ({ name, arguments: args = {} }, { mcpReq }) =>
    one(async () => {
      const signal = AbortSignal.any([ended, mcpReq.signal]);
      const call = { name, arguments: args };
      const send = (consent?: AppConsent) => callForApp(host.serverName, call, consent, signal);
      let answer: AppAnswer = await send();
      // If the server changed the tool in the meantime, the user is asked about the new definition.
      while ("ask" in answer) {
        const { ask } = answer;
        const decision = await host.decide({ kind: "tool", name, input: args, ask });
        signal.throwIfAborted();
        answer = await send({ decision, pin: ask.pin });
      }
      return answer.result as never;
    });

  bridge.onreadresource = ({ uri }, { mcpReq }) =>
    one(async () => {
      const read = await readForApp(host.serverName, uri, AbortSignal.any([ended, mcpReq.signal]));
      return read as never;
    });

  bridge.onopenlink = ({ url }) =>
    one(async () => {
      const address = webAddress(url);
      if (address === undefined) throw new Error("Only addresses of web pages can be opened.");
      // The user opens the link by the click that agrees.
      return (await host.decide({ kind: "link", url: address })) === "deny" ? { isError: true } : {};
    });

  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- It answers a request; only an event has listeners.
  bridge.onmessage = ({ content }) =>
    one(async () => {
      const text = textOf(content).slice(0, MAX_MESSAGE_CHARS);
      if (text.trim() === "") throw new Error("Only messages with a text can be sent.");
      const agreed = (await host.decide({ kind: "message", text })) !== "deny";
      return agreed && (await host.sendMessage(text)) ? {} : { isError: true };
    });

  bridge.onupdatemodelcontext = async ({ content = [], structuredContent }) => {
    const { serverName, tool } = host;
    const texts = content.filter(
      ({ type }) => type === "text" || type === "resource_link" || type === "resource",
    );
    const context = { serverName, tool, content: texts, ...(structuredContent && { structuredContent }) };
    if (JSON.stringify(context).length > MAX_CONTEXT_CHARS)
      throw new Error("This is more than the model is told.");
    host.updateContext(context);
    return {};
  };

  return () => Promise.all(open);
}

/** Returns the text of a message; older apps send one block instead of a list. */
function textOf(content: unknown): string {
  const pieces: JsonObject[] = (Array.isArray(content) ? content : [content]).filter(isObject);
  return pieces
    .flatMap(({ type, text }) => (type === "text" && typeof text === "string" ? [text] : []))
    .join("\n\n");
}
