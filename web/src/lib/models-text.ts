import texts from "../../messages/en.json?models";
import { textsFrom } from "./t";

/** Texts about models and usage, loaded on demand. */
export const t = textsFrom(texts);
