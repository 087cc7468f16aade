import "./no-eval";
import {
  AppBridge,
  buildAllowAttribute,
  PostMessageTransport,
} from "@modelcontextprotocol/ext-apps/app-bridge";
import { pause } from "@/lib/backoff";
import { boot } from "@/lib/boot";
import { isObject, type JsonObject } from "@/lib/json";
import { currentTheme, watchTheme } from "@/lib/page-theme";
import type { AppPage } from "./app-calls";
import { type AppRequests, answerRequests } from "./app-requests";
import { hostContext } from "./host-context";

/** State of the tool call that the app belongs to. */
export interface AppInput {
  readonly arguments: unknown;
  /** Result of the tool, once it exists. */
  readonly result?: JsonObject;
  /** Reason why there will be no result. */
  readonly cancelled?: string;
}

/** Notifications of an app's session, and the requests of the app. */
export interface AppEvents extends AppRequests {
  onReady(): void;
  onFailed(why: "silent"): void;
  onHeight(height: number): void;
  /** Reports that the app asks to be closed. */
  onLeave(): void;
}

/** Time for an app to initialize. */
const START_TIMEOUT_MS = 10_000;
/** Time for an app to clean up after it was closed. */
const TEARDOWN_TIMEOUT_MS = 1_000;
/** Bounds for the height of an app in the conversation. */
const MIN_HEIGHT_PX = 40;
const MAX_HEIGHT_PX = 1_000;

/** Running app: its iframe and the connection to it. Independent of React, so that rendering does not end it. */
export class AppSession {
  readonly frame = document.createElement("iframe");
  readonly #page: AppPage;
  readonly #callId: string;
  readonly #events: AppEvents;
  readonly #stop = new AbortController();
  readonly #bridge: AppBridge;
  readonly #settled: () => Promise<unknown>;
  #input: AppInput;
  #ended = false;
  #sent = { arguments: false, end: false };
  #ready = false;
  #startTimeout: ReturnType<typeof setTimeout> | undefined;
  #width = 0;

  constructor(
    callId: string,
    page: AppPage,
    granted: AppPage["permissions"],
    input: AppInput,
    events: AppEvents,
  ) {
    this.#callId = callId;
    this.#page = { ...page, permissions: granted };
    this.#input = input;
    this.#events = events;
    const capabilities = {
      openLinks: {},
      serverTools: {},
      serverResources: {},
      updateModelContext: { text: {}, structuredContent: {} },
      message: { text: {} },
      sandbox: { csp: mutable(page.csp), permissions: granted },
    };
    const about = { name: "AI Chat MCP", version: boot.version };
    this.#bridge = new AppBridge(null, about, capabilities, { hostContext: this.#context() });
    this.#listen();
    this.#settled = answerRequests(this.#bridge, this.#stop.signal, events);
  }

  /** Shows the app in `place`. */
  async start(place: HTMLElement, title: string): Promise<void> {
    const { frame } = this;
    frame.title = title;
    // The frame's response headers have the same rules; here they hold before its first byte.
    frame.setAttribute("sandbox", "allow-scripts allow-forms");
    frame.allow = buildAllowAttribute(this.#page.permissions).replaceAll(/[\w-]+/gu, "$& *");
    frame.referrerPolicy = "no-referrer";
    place.append(frame);
    const target = frame.contentWindow;
    if (target === null) return;
    await this.#bridge.connect(new PostMessageTransport(target, target));
    this.#startTimeout = setTimeout(() => this.#events.onFailed("silent"), START_TIMEOUT_MS);
    frame.src = this.#page.frame;
  }

  /** Sends changes of the tool call to the app. */
  update(input: AppInput): void {
    this.#input = input;
    this.#sendCallState();
  }

  /** Sends the app its width, in px. */
  resize(width: number): void {
    this.#width = width;
    this.#refresh();
  }

  /** Enters or leaves full screen, if the browser agrees. */
  async setFullscreen(wanted: boolean): Promise<void> {
    try {
      await (wanted ? this.frame.requestFullscreen() : document.exitFullscreen());
    } catch {
      // Browsers may demand a click; the app receives the actual mode.
    }
  }

  get offersFullscreen(): boolean {
    return this.#bridge.getAppCapabilities()?.availableDisplayModes?.includes("fullscreen") === true;
  }

  /** Lets the app clean up, then removes it. */
  async end(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#startTimeout);
    if (this.#ready && this.frame.isConnected) {
      await this.#bridge.teardownResource({}, { timeout: TEARDOWN_TIMEOUT_MS }).catch(() => undefined);
      // Its last requests are still answered.
      await Promise.race([this.#settled(), pause(TEARDOWN_TIMEOUT_MS, this.#stop.signal)]);
    }
    this.frame.remove();
    this.#stop.abort();
    await this.#bridge.close();
  }

  #listen(): void {
    const bridge = this.#bridge;
    bridge.onsandboxready = () => {
      const { html, permissions } = this.#page;
      void bridge.sendSandboxResourceReady({ html, permissions });
    };
    bridge.oninitialized = () => {
      clearTimeout(this.#startTimeout);
      this.#ready = true;
      // A reloaded frame has lost its state.
      this.#sent = { arguments: false, end: false };
      this.#refresh();
      this.#sendCallState();
      this.#events.onReady();
    };
    bridge.onsizechange = ({ height }) => {
      if (height !== undefined && Number.isFinite(height) && !this.#isFullscreen)
        this.#events.onHeight(Math.min(Math.max(Math.ceil(height), MIN_HEIGHT_PX), MAX_HEIGHT_PX));
    };
    bridge.onrequestteardown = () => this.#events.onLeave();
    bridge.onrequestdisplaymode = async ({ mode }) => {
      const wanted = mode === "fullscreen";
      if (wanted !== this.#isFullscreen && (!wanted || this.offersFullscreen))
        await this.setFullscreen(wanted);
      return { mode: this.#isFullscreen ? "fullscreen" : "inline" };
    };
    const { signal } = this.#stop;
    document.addEventListener("fullscreenchange", () => this.#refresh(), { signal });
    signal.addEventListener(
      "abort",
      watchTheme(() => this.#refresh()),
    );
  }

  /** Applies the page's theme to the frame and the app. */
  #refresh(): void {
    this.frame.style.colorScheme = currentTheme();
    const context = this.#context();
    if (this.#ready) this.#bridge.setHostContext(context);
  }

  #context() {
    const full = this.#isFullscreen;
    return {
      ...hostContext(),
      toolInfo: { id: this.#callId, tool: this.#page.tool as never },
      displayMode: full ? ("fullscreen" as const) : ("inline" as const),
      containerDimensions: full
        ? { width: innerWidth, height: innerHeight }
        : { width: this.#width, maxHeight: MAX_HEIGHT_PX },
    };
  }

  get #isFullscreen(): boolean {
    return document.fullscreenElement === this.frame;
  }

  /** Sends the arguments and the result of the call, each once. */
  #sendCallState(): void {
    if (!this.#ready) return;
    const { arguments: args, result, cancelled } = this.#input;
    if (!this.#sent.arguments) {
      this.#sent.arguments = true;
      void this.#bridge.sendToolInput({ arguments: isObject(args) ? { ...args } : {} });
    }
    if (this.#sent.end) return;
    this.#sent.end = result !== undefined || cancelled !== undefined;
    if (result !== undefined) void this.#bridge.sendToolResult(result as never);
    else if (cancelled !== undefined) void this.#bridge.sendToolCancelled({ reason: cancelled });
  }
}

function mutable(csp: AppPage["csp"]): Record<string, string[]> {
  return Object.fromEntries(Object.entries(csp).map(([name, places]) => [name, [...places]]));
}
