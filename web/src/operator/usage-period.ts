import { formatDate } from "@/lib/intl";
import type { UsagePeriod } from "./api";

/** Returns the date of a time in UTC, in which the server counts. */
export function isoDate(time: Date): string {
  return time.toISOString().slice(0, 10);
}

/** Returns a date in the period that many periods later. */
export function shiftPeriod(period: UsagePeriod, date: string, by: number): string {
  const time = new Date(`${date}T00:00:00Z`);
  if (period === "day") time.setUTCDate(time.getUTCDate() + by);
  // From the first, because the other month may be shorter.
  else time.setUTCMonth(time.getUTCMonth() + by, 1);
  return isoDate(time);
}

/** Returns the name of the period with a date. */
export function nameOfPeriod(period: UsagePeriod, date: string): string {
  const time = new Date(`${date}T00:00:00Z`);
  if (period === "day") return formatDate(time, { dateStyle: "medium", timeZone: "UTC" });
  return formatDate(time, { month: "long", year: "numeric", timeZone: "UTC" });
}
