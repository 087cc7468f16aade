import texts from "../../../messages/en.json?form";
import { textsFrom } from "@/lib/t";

/** Texts of forms made from a schema. */
export const t = textsFrom(texts);
