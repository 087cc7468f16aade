const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const dayAndTime = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** When something was or will be: the time of day for today, else the day as well. */
export function formatMoment(moment: string, now = new Date()): string {
  const date = new Date(moment);
  return (date.toDateString() === now.toDateString() ? time : dayAndTime).format(date);
}
