import texts from "../../../../messages/en.json?queue";
import { textsFrom } from "@/lib/t";

/** Texts about queued messages. */
export const t = textsFrom(texts);
