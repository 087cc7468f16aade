import texts from "../../../../messages/en.json?offers";
import { textsFrom } from "@/lib/t";

/** The texts of what servers offer beside tools. */
export const t = textsFrom(texts);
