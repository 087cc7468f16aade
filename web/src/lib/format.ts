import { t } from "./t";

/** A duration in words: milliseconds below one second, seconds with one decimal above. */
export function formatDuration(ms: number): string {
  return ms < 1_000
    ? t("duration.ms", { n: Math.round(ms) })
    : t("duration.s", { n: (ms / 1_000).toFixed(1) });
}
