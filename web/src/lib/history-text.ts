import texts from "../../messages/en.json?history";
import { textsFrom } from "./t";

/** Texts about the list of chats: menu, search, export and shares. */
export const t = textsFrom(texts);
