import texts from "../../../messages/en.json?form";
import { textsFrom } from "@/lib/t";

/** The texts of forms that are made from a schema. */
export const t = textsFrom(texts);
