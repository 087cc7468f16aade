import { createContext } from "react";

/** The chat in which a part of the transcript stands. */
export const ChatId = createContext("");
