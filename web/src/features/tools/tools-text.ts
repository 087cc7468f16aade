import texts from "../../../messages/en.json?tools";
import { textsFrom } from "@/lib/t";

/** Texts of the tools tab. */
export const t = textsFrom(texts);
