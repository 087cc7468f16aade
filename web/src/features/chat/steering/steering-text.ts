import texts from "../../../../messages/en.json?steering";
import { textsFrom } from "@/lib/t";

/** The texts of what can be done with what was said. */
export const t = textsFrom(texts);
