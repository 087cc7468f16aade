import { ChatSpeech } from "./scripted-providers/chat.ts";
import { GeminiSpeech } from "./scripted-providers/gemini.ts";
import { MessagesSpeech } from "./scripted-providers/messages.ts";
import { ResponsesSpeech } from "./scripted-providers/responses.ts";
import type { Speech } from "./scripted-providers/speech.ts";

/** The wire that is spoken at a path. */
export function speechAt(path: string): Speech {
  if (path.endsWith("/responses")) return new ResponsesSpeech();
  if (path.endsWith("/messages")) return new MessagesSpeech();
  if (path.includes(":streamGenerateContent")) return new GeminiSpeech();
  return new ChatSpeech();
}
