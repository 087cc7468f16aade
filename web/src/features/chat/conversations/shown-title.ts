import { t } from "@/lib/t";
import { type ChatSession, NEW_TITLE } from "../api/sessions";

/** Returns the title of a chat to show. The one of a chat without messages is stored in English. */
export function shownTitle({ title }: ChatSession): string {
  return title === NEW_TITLE ? t("chat.new") : title;
}
