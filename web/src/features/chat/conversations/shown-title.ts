import { t } from "@/lib/t";
import { type ChatSession, NEW_TITLE } from "../queries";

/** Returns the title of a chat to show. The one of a chat without messages is stored in English. */
export function shownTitle({ title }: ChatSession): string {
  return title === NEW_TITLE ? t("chat.new") : title;
}
