import texts from "../../../messages/en.json?result";
import { type PartKey, textsFrom } from "@/lib/t";

/** Texts of tool results. */
export const t = textsFrom(texts);

/** Key of a text about tool results. */
export type ResultKey = PartKey<"result">;
