import texts from "../../../messages/en.json?approval";
import { textsFrom } from "@/lib/t";

/** The texts of a call that waits. */
export const t = textsFrom(texts);
