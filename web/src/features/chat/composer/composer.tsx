import { ArrowUp, Clock, Square } from "lucide-react";
import {
  type KeyboardEvent,
  type Ref,
  Suspense,
  useImperativeHandle,
  useLayoutEffect,
  useState,
} from "react";
import { isComposing, sendOnEnter } from "@/lib/enter-key";
import { lazyPart } from "@/lib/lazy-part";
import { t } from "@/lib/t";
import { growWithText } from "@/ui/field";
import { useChatStatus } from "../chat-context";
import { ModelInfo } from "./model-info";
import { ModelNotes } from "./model-notes";
import { QuickTools } from "./quick-tools";
import { type ComposerOptions, useComposer } from "./use-composer";
import { useMcpContext } from "./use-mcp-context";
import type { TurnRequest } from "../stream/chat-contract";
import type { ChatStore } from "../stream/chat-store";

/** Calls from the rest of the chat into the composer. */
export interface ComposerHandle {
  /** Sets the text and places the cursor at its end. */
  readonly fill: (text: string) => void;
  /** Starts a turn without touching the field; resolves to true if the server accepted it. */
  readonly startTurn: (turn: TurnRequest) => Promise<boolean>;
  readonly focus: () => void;
  /** Sends what the field contains. */
  readonly submit: () => void;
}

interface ComposerProps extends ComposerOptions {
  ref: Ref<ComposerHandle>;
}

// Loaded later: few messages have files, and the conversation is drawn first.
const FileHost = lazyPart(async () => (await import("../files/file-host")).FileHost);
const Queue = lazyPart(async () => (await import("../queue/queue")).Queue);

const ComposerExtras = lazyPart(async () => (await import("./composer-extras")).ComposerExtras);

const ACTIONS = {
  send: { Icon: ArrowUp, label: "chat.send" },
  stop: { Icon: Square, label: "chat.stop" },
  queue: { Icon: Clock, label: "chat.queue" },
} as const;

const BUTTON =
  "col-start-3 mt-1 grid size-9 place-items-center short:mt-0 max-wide:order-2 rounded-[12px] bg-ink text-paper transition-opacity duration-150 disabled:opacity-35 touch:size-11 [&_svg]:size-4";

/** Returns true if a text was inserted as a whole, for example pasted. */
function isPasted(event: Event): boolean {
  return event instanceof InputEvent && /^insertFrom(?:Paste|Drop)/u.test(event.inputType);
}

/**
 * Message field with its buttons. During an answer Send turns into Stop, or queues what has been written. Escape always
 * stops.
 */
export function Composer({ ref, ...options }: ComposerProps) {
  const { store, tools } = options;
  const { field, text, write, fill, submit, startTurn, attached } = useComposer(options);
  useLayoutEffect(() => growWithText(field.current));
  const mcpContext = useMcpContext({ field, text, write, attached });
  useImperativeHandle(ref, () => ({
    fill: (next) => {
      fill(next);
      // A prompt that the palette has filled in opens the list, once the field shows it.
      requestAnimationFrame(() => mcpContext.onWrite());
    },
    startTurn,
    focus: () => field.current?.focus(),
    submit: () => void submit(),
  }));
  const { phase } = useChatStatus(store);
  const busy = phase !== "idle";
  const hasText = text.trim() !== "";
  /** What the button does: one box for all of it, so that nothing moves. */
  const action = busy ? (hasText && phase === "running" ? "queue" : "stop") : "send";
  const { Icon, label } = ACTIONS[action];
  const canSend =
    attached.reading.length === 0 && (hasText || attached.list.some(({ kind }) => kind === "prompt"));
  const [slot, setSlot] = useState<HTMLElement | null>(null);

  function stop() {
    field.current?.focus();
    void store.stop();
  }

  function onKeyDown(event: KeyboardEvent<HTMLTextAreaElement>) {
    const composing = isComposing(event);
    if (!composing && mcpContext.onKey(event)) {
      event.preventDefault();
      return;
    }
    if (event.key === "Escape" && busy && !composing) stop();
    if (event.key === "ArrowUp" && !event.altKey && text === "" && !busy)
      store.editing.set(newestUserMessageId(store));
    sendOnEnter(event, () => void submit());
  }

  return (
    <div className="px-5 pb-4 max-wide:px-2.5 max-wide:pb-2.5 short:pb-1.5">
      <div className="mx-auto max-w-measure">
        <Suspense>
          <Queue chatId={options.chatId} store={store} />
        </Suspense>
        <QuickTools tools={tools} isLoading={options.toolsConnected === undefined} onFill={fill} />
        <div
          data-composer=""
          className="relative grid grid-cols-[minmax(0,1fr)_auto_auto] items-center gap-x-1.5 rounded-[18px] border border-line-strong bg-surface pt-3 pr-2.5 pb-2 pl-4 short:pt-2 short:pb-1 shadow-raised transition-colors duration-150 focus-within:border-ink-3"
        >
          <div className="col-span-3">
            {mcpContext.host}
            <div ref={setSlot} />
          </div>
          <textarea
            {...mcpContext.fieldProps}
            ref={field}
            dir="auto"
            rows={1}
            value={text}
            aria-label={t("chat.message")}
            placeholder={t("chat.placeholder")}
            onChange={(event) => {
              write(event.target.value);
              mcpContext.onWrite(isPasted(event.nativeEvent) ? "paste" : undefined);
            }}
            onSelect={() => mcpContext.onWrite()}
            onKeyDown={onKeyDown}
            className="col-span-3 field-sizing-content max-h-[40dvh] short:max-h-[20dvh] min-h-7 w-full resize-none bg-transparent outline-none max-wide:col-span-1"
          />
          <div className="mt-1 -ml-2 flex min-w-0 flex-wrap short:mt-0 items-center gap-1.5 max-wide:order-2 max-wide:col-[1/span_2] max-phone:gap-0">
            <Suspense fallback={<span className="size-[30px] touch:size-11" />}>
              <FileHost {...{ field, text, write, attached, slot }} chatId={options.chatId} />
            </Suspense>
            {mcpContext.buttons}
            <ModelInfo chatId={options.chatId} toolCount={tools.length} />
          </div>
          <Suspense>
            <ComposerExtras {...{ store, field, text, write }} chatId={options.chatId} />
          </Suspense>
          <button
            type="button"
            aria-label={t(label)}
            title={t(label)}
            disabled={action === "stop" ? phase === "stopping" : !canSend}
            onClick={() => (action === "stop" ? stop() : void submit())}
            className={BUTTON}
          >
            <Icon
              aria-hidden="true"
              {...(action === "stop" && { fill: "currentColor", className: "scale-70" })}
            />
          </button>
        </div>
        <ModelNotes chatId={options.chatId} toolCount={tools.length} />
      </div>
    </div>
  );
}

/** Returns the id of the user's newest stored message. */
function newestUserMessageId(store: ChatStore): string | null {
  const isOwn = (id: string) => store.message(id)?.role === "user" && store.isStored(id);
  return store.status().ids.findLast(isOwn) ?? null;
}
