const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

const DAY_MS = 86_400_000;

/** Formats the time of day of an RFC 3339 time in the user's locale and time zone; empty for an invalid time. */
export function timeOf(moment: string): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? "" : timeOfDay.format(date);
}

/** Formats a time as short as possible: today the time of day, within a week the weekday, else the date. */
export function dayOf(moment: string, now = new Date()): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";
  if (date.toDateString() === now.toDateString()) return timeOfDay.format(date);
  return now.getTime() - date.getTime() < 6 * DAY_MS ? weekday.format(date) : dayAndMonth.format(date);
}
