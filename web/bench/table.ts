interface Row {
  what: string;
  unit: string;
  measured: number;
  budget: number;
}

/** Factor by which a figure may exceed its budget, because times differ between machines. */
const tolerance = 1.5;

/** Figures beside what they are to be. */
export class Table {
  readonly #rows: Row[] = [];

  add(what: string, unit: string, measured: number, budget: number): void {
    this.#rows.push({ what, unit, measured, budget });
  }

  toMarkdown(): string {
    const lines = this.#rows.map(({ what, unit, measured, budget }) => {
      const missed = measured > budget * tolerance ? " (missed)" : "";
      return `| ${what} | ${shown(measured)} ${unit}${missed} | ${budget} ${unit} |`;
    });
    return ["| | measured | budget |", "|---|---|---|", ...lines].join("\n").replaceAll(/ +\|/gu, " |");
  }
}

const shown = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value.toFixed(value < 10 ? 2 : 1);

/** The middle one; 0 of none. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The value below which so many of a hundred are; 0 of none. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor((sorted.length * percent) / 100), sorted.length - 1)] ?? 0;
}
