import { createContext } from "react";

/** Id of the chat that a component belongs to. */
export const ChatId = createContext("");

/** Sends a text in this chat; resolves to true if the server accepted it. */
export const SendInChat = createContext<(text: string) => Promise<boolean>>(async () => false);
