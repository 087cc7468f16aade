import { formatNumber } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import type { Usage } from "@/lib/usage";
import { tokensOf } from "./usage";

interface UsageChartProps {
  days: readonly { name: string; total: Usage }[];
}

/** In units of the chart, which is stretched to the available width. */
const WIDTH = 600;
const HEIGHT = 120;

/** Bar chart of the tokens per day. The table below has the same figures. */
export function UsageChart({ days }: UsageChartProps) {
  const most = Math.max(1, ...days.map(({ total }) => tokensOf(total)));
  const step = WIDTH / days.length;
  const gap = Math.min(step * 0.25, 4);
  return (
    <figure className="grid gap-1.5 px-4 py-3">
      <p className="flex justify-between text-xs text-ink-2 tabular-nums" aria-hidden="true">
        <span>{t("models.report.most", { n: most })}</span>
      </p>
      <svg
        role="img"
        aria-label={t("models.report.chart", { n: days.length, most })}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        preserveAspectRatio="none"
        className="h-28 w-full"
      >
        <line x1="0" x2={WIDTH} y1="0.5" y2="0.5" className="stroke-line" vectorEffect="non-scaling-stroke" />
        {days.map(({ name, total }, at) => {
          const tokens = tokensOf(total);
          const height = tokens === 0 ? 0 : Math.max(2, (tokens / most) * HEIGHT);
          return (
            <rect
              key={name}
              x={at * step + gap / 2}
              y={HEIGHT - height}
              width={step - gap}
              height={height}
              className={total.estimatedCalls > 0 ? "fill-accent opacity-60" : "fill-accent"}
            >
              <title>{`${name}: ${formatNumber(tokens)}`}</title>
            </rect>
          );
        })}
        <line
          x1="0"
          x2={WIDTH}
          y1={HEIGHT - 0.5}
          y2={HEIGHT - 0.5}
          className="stroke-line-strong"
          vectorEffect="non-scaling-stroke"
        />
      </svg>
      <p className="flex justify-between text-xs text-ink-2 tabular-nums" aria-hidden="true">
        <span>{days[0]?.name}</span>
        <span>{days.at(-1)?.name}</span>
      </p>
    </figure>
  );
}
