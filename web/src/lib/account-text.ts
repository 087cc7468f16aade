import texts from "../../messages/en.json?account";
import { textsFrom } from "./t";

/** The texts about a person's account, for what is loaded only when somebody sees to it. */
export const t = textsFrom(texts);
