import { textsFrom } from "@/lib/t";
import texts from "../../../messages/en.json?files";

/** Texts of images and documents. */
export const t = textsFrom(texts);
