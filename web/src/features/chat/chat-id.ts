import { createContext } from "react";

/** The chat in which a part of the transcript stands. */
export const ChatId = createContext("");

/** Sends a text in this chat; whether the server took it. */
export const SendInChat = createContext<(text: string) => Promise<boolean>>(async () => false);
