import texts from "../../../messages/en.json?apps";
import { textsFrom } from "@/lib/t";

/** Texts of MCP apps. */
export const t = textsFrom(texts);
