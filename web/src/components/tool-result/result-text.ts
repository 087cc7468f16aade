import texts from "../../../messages/en.json?result";
import { type PartKey, textsFrom } from "@/lib/t";

/** The texts of results. */
export const t = textsFrom(texts);

/** The name of a text of results. */
export type ResultKey = PartKey<"result">;
