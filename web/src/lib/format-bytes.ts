import { formatNumber } from "./intl";

const UNITS = ["kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** Formats a size in the largest unit of which it has at least one, and in kilobytes at least. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.floor(Math.log10(bytes) / 3) - 1;
  const index = Math.min(power, UNITS.length - 1);
  return formatNumber(bytes / 1_000 ** (index + 1), {
    style: "unit",
    unit: UNITS[index],
    maximumFractionDigits: 1,
  });
}
