import { formatDate } from "@/lib/intl";
import type { Quota } from "@/lib/quota";
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
  readonly quotas: readonly Quota[];
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

/** Formats a day of the report, which is one of UTC. */
export function dayOf(day: string): string {
  return formatDate(new Date(day), { dateStyle: "medium", timeZone: "UTC" });
}

/** Days and models of the usage, as a chart shows them. */
export type Measure = "tokens" | "cost";

/** Number of models with a colour of their own. */
const MAX_SERIES = 5;

export interface Stack {
  /** ISO date in UTC. */
  readonly day: string;
  /** Value of each series. */
  readonly values: readonly number[];
  readonly total: number;
}

export interface StackedUsage {
  /** Names of the models, the one with the most first; undefined for all others together. */
  readonly series: readonly (string | undefined)[];
  /** All days of the report, oldest first. */
  readonly stacks: readonly Stack[];
}

/** Returns the usage of each model on each day. Models beyond the first five are one series. */
export function stackUsage(report: UsageReport, measure: Measure): StackedUsage {
  const valueOf = (usage: Usage): number => (measure === "tokens" ? tokensOf(usage) : usage.costUsd);
  const models = byModel(report)
    .filter(({ total }) => valueOf(total) > 0)
    .toSorted((one, other) => valueOf(other.total) - valueOf(one.total))
    .map(({ name }) => name);
  // A single other model needs no name for all others.
  const series = models.length <= MAX_SERIES + 1 ? models : [...models.slice(0, MAX_SERIES), undefined];
  const placeOf = new Map(models.map((model, at) => [model, Math.min(at, series.length - 1)]));
  const valuesOf = new Map(byDay(report).map(({ name }) => [name, series.map(() => 0)]));
  for (const row of report.days) {
    const values = valuesOf.get(row.day);
    const place = placeOf.get(row.model);
    if (values && place !== undefined) values[place] = (values[place] ?? 0) + valueOf(row);
  }
  const stacks = [...valuesOf].map(([day, values]) => ({
    day,
    values,
    total: values.reduce((sum, value) => sum + value, 0),
  }));
  return { series, stacks };
}

/** Returns the next round number from a value on, for the end of an axis. */
export function roundUp(value: number): number {
  if (value <= 0) return 1;
  const unit = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5].find((factor) => factor * unit >= value) ?? 10) * unit;
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
