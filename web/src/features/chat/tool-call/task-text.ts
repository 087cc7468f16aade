import texts from "../../../../messages/en.json?task";
import { textsFrom } from "@/lib/t";

/** The texts of a call that runs as a task. */
export const t = textsFrom(texts);
