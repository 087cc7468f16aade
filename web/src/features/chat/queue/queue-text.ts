import texts from "../../../../messages/en.json?queue";
import { textsFrom } from "@/lib/t";

/** The texts of messages that wait. */
export const t = textsFrom(texts);
