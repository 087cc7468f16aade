import { formatNumber } from "@/lib/intl";

const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** Formats a size in the largest unit of which it has at least one. */
export function formatBytes(bytes: number): string {
  const exponent = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(bytes) / 3));
  return formatNumber(bytes / 1_000 ** exponent, {
    style: "unit",
    unit: UNITS[exponent],
    maximumFractionDigits: exponent === 0 ? 0 : 1,
  });
}
