import texts from "../../../../messages/en.json?steering";
import { textsFrom } from "@/lib/t";

/** Texts of the actions below messages. */
export const t = textsFrom(texts);
