import texts from "../../messages/en.json?account";
import { textsFrom } from "./t";

/** Texts about the account, loaded on demand. */
export const t = textsFrom(texts);
