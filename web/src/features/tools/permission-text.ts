import texts from "../../../messages/en.json?permission";
import { textsFrom } from "@/lib/t";

/** Texts about tool permissions. */
export const t = textsFrom(texts);
