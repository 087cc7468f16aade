import texts from "../../../messages/en.json?elicitation";
import { textsFrom } from "@/lib/t";

/** Texts of elicitations. */
export const t = textsFrom(texts);
