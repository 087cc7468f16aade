import texts from "../../messages/en.json?history";
import { textsFrom } from "./t";

/** The texts about the chats that a person has: their menu, search, files and shares. */
export const t = textsFrom(texts);
