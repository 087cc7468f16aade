import texts from "../../../messages/en.json?servers";
import { textsFrom } from "@/lib/t";

/** Texts about servers and connections. */
export const t = textsFrom(texts);
