import texts from "../../../../messages/en.json?task";
import { textsFrom } from "@/lib/t";

/** Texts about calls that run as MCP tasks. */
export const t = textsFrom(texts);
