import { textsFrom } from "@/lib/t";
import texts from "../../../messages/en.json?share";

/** The texts of a chat that somebody shares. */
export const t = textsFrom(texts);
