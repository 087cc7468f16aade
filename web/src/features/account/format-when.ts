import { formatDate, formatRelativeDay } from "@/lib/intl";

const DAY_MS = 86_400_000;

/** Formats a time like "14:05", "yesterday, 22:14", "Thursday 09:40" or "3 Nov 2026". */
export function whenOf(moment: string, now = new Date()): string {
  const date = new Date(moment);
  const days = Math.round((midnight(now) - midnight(date)) / DAY_MS);
  if (days <= 0) return formatDate(date, { timeStyle: "short" });
  if (days === 1) return `${formatRelativeDay(-1)}, ${formatDate(date, { timeStyle: "short" })}`;
  if (days >= 7) return formatDate(date, { dateStyle: "medium" });
  return formatDate(date, { weekday: "long", hour: "numeric", minute: "numeric" });
}

/** Formats the date of a time in the page's language and the user's time zone. */
export function dayOf(moment: string): string {
  return formatDate(new Date(moment), { dateStyle: "medium" });
}

function midnight(date: Date): number {
  return new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
}
