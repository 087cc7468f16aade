const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** Formats a past or future time: today only the time of day, else with the date. */
export function formatMoment(moment: string, now = new Date()): string {
  const date = new Date(moment);
  return (date.toDateString() === now.toDateString() ? time : dayAndTime).format(date);
}
