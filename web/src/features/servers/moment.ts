import { formatDate } from "@/lib/intl";

/** Formats a past or future time: today only the time of day, else with the date. */
export function formatMoment(moment: string, now = new Date()): string {
  const date = new Date(moment);
  const isToday = date.toDateString() === now.toDateString();
  return formatDate(date, isToday ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
}
