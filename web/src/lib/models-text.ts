import texts from "../../messages/en.json?models";
import { textsFrom } from "./t";

/** The texts about models and what they cost, for what is loaded only when somebody looks at it. */
export const t = textsFrom(texts);
