import texts from "../../../messages/en.json?elicitation";
import { textsFrom } from "@/lib/t";

/** The texts of questions that servers ask in the middle of a call. */
export const t = textsFrom(texts);
