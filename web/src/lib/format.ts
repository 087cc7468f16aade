import { t } from "./t";

/** Formats a duration: milliseconds below one second, then seconds with one decimal, then the two largest units. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return t("duration.ms", { n: Math.round(ms) });
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return t("duration.s", { n: ms / 1_000 });
  return formatMinutes(ms);
}

/** Formats a running time in whole seconds, from one minute on as {@link formatDuration} does. */
export function formatSeconds(seconds: number): string {
  return seconds < 60 ? t("duration.seconds", { n: seconds }) : formatMinutes(seconds * 1_000);
}

function formatMinutes(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return t("duration.min", { m: minutes, s: Math.floor(ms / 1_000) % 60 });
  return t("duration.h", { h: Math.floor(minutes / 60), m: minutes % 60 });
}
