import texts from "../../../messages/en.json?permission";
import { textsFrom } from "@/lib/t";

/** The texts about what tools are allowed. */
export const t = textsFrom(texts);
