import { textsFrom } from "@/lib/t";
import texts from "../../../messages/en.json?share";

/** Texts of shared chats. */
export const t = textsFrom(texts);
