import texts from "../../../../messages/en.json?offers";
import { textsFrom } from "@/lib/t";

/** Texts about prompts and resources of servers. */
export const t = textsFrom(texts);
