import texts from "../../../messages/en.json?approval";
import { textsFrom } from "@/lib/t";

/** Texts of approval requests. */
export const t = textsFrom(texts);
