import { ContextGauge } from "./context-gauge";
import type { ChatStore } from "../stream/chat-store";

interface ComposerExtrasProps {
  chatId: string;
  store: ChatStore;
}

/** What stands before the Send button, loaded after the conversation. */
export function ComposerExtras(props: ComposerExtrasProps) {
  return <ContextGauge {...props} />;
}
