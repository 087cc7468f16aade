const time = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
const weekdayAndTime = new Intl.DateTimeFormat(undefined, {
  weekday: "long",
  hour: "numeric",
  minute: "numeric",
});
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const DAY_MS = 86_400_000;

/** Formats a time like "14:05", "yesterday, 22:14", "Thursday 09:40" or "3 Nov 2026". */
export function whenOf(moment: string, now = new Date()): string {
  const date = new Date(moment);
  const days = Math.round((midnight(now) - midnight(date)) / DAY_MS);
  if (days <= 0) return time.format(date);
  if (days === 1) return `${relative.format(-1, "day")}, ${time.format(date)}`;
  return days < 7 ? weekdayAndTime.format(date) : day.format(date);
}

/** Formats the date of a time in the user's locale and time zone. */
export function dayOf(moment: string): string {
  return day.format(new Date(moment));
}

function midnight(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}
