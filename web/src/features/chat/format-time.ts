const timeOfDay = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const dayAndMonth = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

const DAY_MS = 86_400_000;

/** The time of day of an RFC 3339 time, in the reader's own way and zone; empty for what is no time. */
export function timeOf(moment: string): string {
  const date = new Date(moment);
  return Number.isNaN(date.getTime()) ? "" : timeOfDay.format(date);
}

/** When it was, as short as can be: the time today, the weekday within a week, else the day. */
export function dayOf(moment: string, now = new Date()): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";
  if (date.toDateString() === now.toDateString()) return timeOfDay.format(date);
  return now.getTime() - date.getTime() < 6 * DAY_MS ? weekday.format(date) : dayAndMonth.format(date);
}
