import texts from "../../../messages/en.json?apps";
import { textsFrom } from "@/lib/t";

/** The texts around apps. */
export const t = textsFrom(texts);
