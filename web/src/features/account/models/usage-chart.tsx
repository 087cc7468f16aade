import { type KeyboardEvent, type PointerEvent, useState } from "react";
import { formatDate } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import { formatDollars, formatTokenCount } from "@/lib/usage";
import {
  dayOf,
  type Measure,
  roundUp,
  type Stack,
  stackUsage,
  type StackedUsage,
  type UsageReport,
} from "./usage";

interface UsageChartProps {
  report: UsageReport;
  measure: Measure;
}

/** In units of the chart, which is stretched to the available width. */
const WIDTH = 1000;
const HEIGHT = 100;

/** Colours of the series, in their order. */
const FILLS = [
  "fill-chart-1",
  "fill-chart-2",
  "fill-chart-3",
  "fill-chart-4",
  "fill-chart-5",
  "fill-chart-6",
] as const;

/** Number of days that Page Up and Page Down move by. */
const DAYS_PER_PAGE = 7;

/**
 * Bar for each day with a stack of its models. The days can be gone through with the pointer and with the arrow keys;
 * the table of the section has the same figures.
 */
export function UsageChart({ report, measure }: UsageChartProps) {
  const usage = stackUsage(report, measure);
  const { series, stacks } = usage;
  const top = roundUp(Math.max(...stacks.map(({ total }) => total)));
  const last = stacks.length - 1;
  const [pointed, setPointed] = useState<number>();
  const [hasFocus, setFocus] = useState(false);
  /** Day of the keyboard. */
  const [chosen, setChosen] = useState(last);
  const current = Math.min(chosen, last);
  const shown = pointed ?? (hasFocus ? current : undefined);
  const shownStack = shown === undefined ? undefined : stacks[shown];
  const currentStack = stacks[current];

  function onPointerMove({ currentTarget, clientX }: PointerEvent): void {
    const { left, width } = currentTarget.getBoundingClientRect();
    setPointed(Math.min(last, Math.max(0, Math.floor(((clientX - left) / width) * stacks.length))));
  }

  function onKeyDown(event: KeyboardEvent): void {
    const next = nextDay(event.key, current, last);
    if (next === undefined) return;
    event.preventDefault();
    setPointed(undefined);
    setChosen(next);
  }

  return (
    <figure className="grid gap-3 px-4 py-3.5">
      <div className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-2.5 gap-y-1.5 text-xs text-ink-2 tabular-nums">
        <div aria-hidden="true" className="flex flex-col justify-between text-right leading-none">
          <span className="-translate-y-1/2">{formatValue(top, measure, true)}</span>
          <span>{formatValue(top / 2, measure, true)}</span>
          <span className="translate-y-1/2">{formatValue(0, measure, true)}</span>
        </div>
        <div
          role="slider"
          tabIndex={0}
          aria-label={t(measure === "tokens" ? "models.report.chart.tokens" : "models.report.chart.cost", {
            n: stacks.length,
          })}
          aria-orientation="horizontal"
          aria-valuemin={0}
          aria-valuemax={last}
          aria-valuenow={current}
          aria-valuetext={currentStack && wordsOf(currentStack, usage, measure)}
          onPointerMove={onPointerMove}
          onPointerDown={onPointerMove}
          onPointerLeave={() => setPointed(undefined)}
          onFocus={() => setFocus(true)}
          onBlur={() => setFocus(false)}
          onKeyDown={onKeyDown}
          className="relative h-44 rounded-sm outline-offset-4"
        >
          <svg
            aria-hidden="true"
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            className="size-full overflow-visible"
          >
            {[0, 0.5, 1].map((share) => (
              <line
                key={share}
                x1="0"
                x2={WIDTH}
                y1={HEIGHT * share}
                y2={HEIGHT * share}
                className={share === 1 ? "stroke-line-strong" : "stroke-line"}
                vectorEffect="non-scaling-stroke"
              />
            ))}
            {stacks.map((stack, at) => (
              <Bar
                key={stack.day}
                stack={stack}
                at={at}
                step={WIDTH / stacks.length}
                top={top}
                isFaint={shown !== undefined && shown !== at}
              />
            ))}
          </svg>
          {shown !== undefined && shownStack && (
            <Tooltip
              stack={shownStack}
              usage={usage}
              measure={measure}
              place={(shown + 0.5) / stacks.length}
            />
          )}
        </div>
        <span />
        <p aria-hidden="true" className="flex justify-between">
          {[0, Math.floor(last / 2), last].map((at) => (
            <span key={at}>{shortDayOf(stacks[at]?.day)}</span>
          ))}
        </p>
      </div>
      <figcaption>
        <ul aria-label={t("models.report.legend")} className="flex flex-wrap gap-x-4 gap-y-1 text-sm">
          {series.map((name, at) => (
            <li key={name ?? ""} className="flex min-w-0 items-center gap-2 wrap-anywhere">
              <Swatch at={at} />
              {name ?? t("models.report.others")}
            </li>
          ))}
        </ul>
      </figcaption>
    </figure>
  );
}

interface BarProps {
  stack: Stack;
  at: number;
  /** Width of a day. */
  step: number;
  /** Value at the top of the chart. */
  top: number;
  isFaint: boolean;
}

function Bar({ stack, at, step, top, isFaint }: BarProps) {
  const gap = step * 0.22;
  return (
    <g className={isFaint ? "opacity-45" : undefined}>
      {stack.values.map((value, place) => {
        if (value === 0) return null;
        const end = stack.values.slice(0, place + 1).reduce((sum, one) => sum + one, 0);
        return (
          <rect
            // Series have no identity beyond their place.
            key={place}
            x={at * step + gap / 2}
            width={step - gap}
            y={HEIGHT - (end / top) * HEIGHT}
            height={(value / top) * HEIGHT}
            className={FILLS[place]}
          />
        );
      })}
    </g>
  );
}

interface TooltipProps {
  stack: Stack;
  usage: StackedUsage;
  measure: Measure;
  /** Share of the chart's width at which the day is. */
  place: number;
}

/** Figures of a day. Screen readers get them as the value of the slider. */
function Tooltip({ stack, usage, measure, place }: TooltipProps) {
  return (
    <div
      aria-hidden="true"
      data-tooltip=""
      // Slides along itself, so that it stays within the chart.
      style={{ left: `${place * 100}%`, translate: `${-place * 100}% 0` }}
      className="pointer-events-none absolute -top-2 z-10 grid w-max max-w-full gap-1 rounded-md border border-line bg-surface px-3 py-2 text-xs text-ink shadow-float"
    >
      <p className="flex justify-between gap-5 font-semibold">
        <span>{dayOf(stack.day)}</span>
        <span>{formatValue(stack.total, measure)}</span>
      </p>
      {usage.series.map((name, at) => {
        const value = stack.values[at] ?? 0;
        return (
          value > 0 && (
            <p key={name ?? ""} className="flex items-center gap-2">
              <Swatch at={at} />
              <span className="min-w-0 flex-1 truncate text-ink-2">{name ?? t("models.report.others")}</span>
              <span className="pl-3">{formatValue(value, measure)}</span>
            </p>
          )
        );
      })}
    </div>
  );
}

function Swatch({ at }: { at: number }) {
  return (
    <svg aria-hidden="true" viewBox="0 0 10 10" className="size-2.5 shrink-0">
      <rect width="10" height="10" rx="2.5" className={FILLS[at]} />
    </svg>
  );
}

function wordsOf({ day, total, values }: Stack, { series }: StackedUsage, measure: Measure): string {
  const parts = series.flatMap((name, at) => {
    const value = values[at] ?? 0;
    return value > 0 ? [`${name ?? t("models.report.others")}: ${formatValue(value, measure)}`] : [];
  });
  return [`${dayOf(day)}: ${formatValue(total, measure)}`, ...parts].join("; ");
}

/** Returns the day that a key leads to. */
function nextDay(key: string, current: number, last: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -DAYS_PER_PAGE,
    PageUp: DAYS_PER_PAGE,
    Home: -last,
    End: last,
  };
  const step = steps[key];
  return step === undefined ? undefined : Math.min(last, Math.max(0, current + step));
}

/** Formats a day of the axis. */
function shortDayOf(day: string | undefined): string {
  return day === undefined
    ? ""
    : formatDate(new Date(day), { month: "short", day: "numeric", timeZone: "UTC" });
}

function formatValue(value: number, measure: Measure, isShort = false): string {
  if (measure === "cost")
    return formatDollars(value, {
      minimumFractionDigits: value === 0 ? 0 : 2,
      maximumFractionDigits: value > 0 && value < 0.1 ? 4 : 2,
    });
  return isShort ? formatTokenCount(value) : t("models.report.most", { n: value });
}
