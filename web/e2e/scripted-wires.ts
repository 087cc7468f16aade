import { ChatSpeech } from "./scripted-wires/chat.ts";
import { GeminiSpeech } from "./scripted-wires/gemini.ts";
import { MessagesSpeech } from "./scripted-wires/messages.ts";
import { ResponsesSpeech } from "./scripted-wires/responses.ts";
import type { Speech } from "./scripted-wires/speech.ts";

/** The wire that is spoken at a path. */
export function speechAt(path: string): Speech {
  if (path.endsWith("/responses")) return new ResponsesSpeech();
  if (path.endsWith("/messages")) return new MessagesSpeech();
  if (path.includes(":streamGenerateContent")) return new GeminiSpeech();
  return new ChatSpeech();
}
