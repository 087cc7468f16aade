import type { RefObject } from "react";
import { ContextGauge } from "./context-gauge";
import { DictationButton } from "./dictation-button";
import { QuotaWarning } from "./quota-warning";
import type { ChatStore } from "../stream/chat-store";

interface ComposerExtrasProps {
  chatId: string;
  store: ChatStore;
  field: RefObject<HTMLTextAreaElement | null>;
  text: string;
  write: (text: string) => void;
}

/** What stands before the Send button, loaded after the conversation. */
export function ComposerExtras({ chatId, store, ...editor }: ComposerExtrasProps) {
  return (
    // On small screens it stands beside the text, because the row of buttons is full.
    <div className="mt-1 flex items-center gap-1.5 short:mt-0 max-wide:order-1 max-wide:col-span-2 max-wide:-my-2 max-wide:justify-end max-wide:self-end max-wide:gap-0">
      <QuotaWarning store={store} />
      <ContextGauge chatId={chatId} store={store} />
      <DictationButton {...editor} />
    </div>
  );
}
