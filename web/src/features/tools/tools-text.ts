import texts from "../../../messages/en.json?tools";
import { textsFrom } from "@/lib/t";

/** The texts of the list of tools and of a tool's form. */
export const t = textsFrom(texts);
