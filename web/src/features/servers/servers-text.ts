import texts from "../../../messages/en.json?servers";
import { textsFrom } from "@/lib/t";

/** The texts about servers and the connections to them. */
export const t = textsFrom(texts);
