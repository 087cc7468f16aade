import { textsFrom } from "@/lib/t";
import texts from "../../../messages/en.json?files";

/** The texts of pictures and documents. */
export const t = textsFrom(texts);
