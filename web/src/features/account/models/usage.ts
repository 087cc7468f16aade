import type { Usage } from "@/lib/usage";

interface DayAndModel extends Usage {
  /** ISO date in UTC. */
  readonly day: string;
  /** `provider/name`. */
  readonly model: string;
}

export interface UsageReport {
  readonly from: string;
  readonly to: string;
  readonly days: readonly DayAndModel[];
  readonly limit: { readonly tokensPerDay: number; readonly used: number } | null;
}

/** Selectable periods in days. */
export const ranges = [7, 30, 90, 365] as const;

export const tokensOf = ({ inputTokens, outputTokens }: Usage): number => inputTokens + outputTokens;

const nothing: Usage = {
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  calls: 0,
  estimatedCalls: 0,
  costUsd: 0,
  unpricedCalls: 0,
};

function add(one: Usage, other: Usage): Usage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cachedInputTokens: one.cachedInputTokens + other.cachedInputTokens,
    calls: one.calls + other.calls,
    estimatedCalls: one.estimatedCalls + other.estimatedCalls,
    costUsd: one.costUsd + other.costUsd,
    unpricedCalls: one.unpricedCalls + other.unpricedCalls,
  };
}

/** Returns the totals of a list. */
export function wholeOf(totals: readonly Usage[]): Usage {
  return totals.reduce(add, nothing);
}

interface Named {
  readonly name: string;
  readonly total: Usage;
}

function grouped(rows: readonly DayAndModel[], key: "day" | "model"): Map<string, Usage> {
  const sums = new Map<string, Usage>();
  for (const row of rows) sums.set(row[key], add(sums.get(row[key]) ?? nothing, row));
  return sums;
}

/** Returns all days of a report, oldest first, days without usage included. */
export function byDay({ from, to, days }: UsageReport): Named[] {
  const sums = grouped(days, "day");
  const all: Named[] = [];
  for (let day = Date.parse(from); day <= Date.parse(to); day += 86_400_000) {
    const name = new Date(day).toISOString().slice(0, 10);
    all.push({ name, total: sums.get(name) ?? nothing });
  }
  return all;
}

/** Returns the usage of each model, the one with the most tokens first. */
export function byModel({ days }: UsageReport): Named[] {
  const sums = [...grouped(days, "model")].map(([name, total]) => ({ name, total }));
  return sums.sort((one, other) => tokensOf(other.total) - tokensOf(one.total));
}

const columns = [
  "inputTokens",
  "cachedInputTokens",
  "outputTokens",
  "calls",
  "estimatedCalls",
  "costUsd",
  "unpricedCalls",
] as const;

/** Converts a report to CSV (RFC 4180) with a row per day and model. */
export function toCsv({ days }: UsageReport): string {
  const rows = days.map((row) => [row.day, quoted(row.model), ...columns.map((column) => row[column])]);
  return [["day", "model", ...columns], ...rows].map((row) => `${row.join(",")}\r\n`).join("");
}

function quoted(text: string): string {
  // Spreadsheets would evaluate a cell that begins like a formula.
  const plain = /^[=+\-@\t\r]/u.test(text) ? `'${text}` : text;
  return /[",\r\n]/u.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
