import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { formatCost, formatTokenCount, type Usage } from "@/lib/usage";
import { cn } from "@/lib/cn";
import { IconButton } from "@/ui/button";
import { type UsagePeriod, usageQuery } from "./api";
import { Empty, Loaded, PageHead, Panel } from "./parts";
import { t } from "./t";
import { isoDate, nameOfPeriod, shiftPeriod } from "./usage-period";
import { nameOfUser } from "./users-page";

/** Tokens and costs of all users in a day or a month. */
export function UsagePage() {
  const [period, setPeriod] = useState<UsagePeriod>("month");
  const [today] = useState(() => isoDate(new Date()));
  const [date, setDate] = useState(today);
  const query = useQuery({ ...usageQuery(period, date), placeholderData: keepPreviousData });
  const isLast = shiftPeriod(period, date, 1) > today;
  return (
    <>
      <PageHead title={t("operator.usage")}>
        <div className="flex flex-wrap items-center gap-2">
          <div
            role="group"
            aria-label={t("operator.usage.period")}
            className="inline-flex gap-0.5 rounded-[12px] bg-sunken p-[3px]"
          >
            {(["day", "month"] as const).map((one) => (
              <button
                key={one}
                type="button"
                aria-pressed={period === one}
                className="h-8 rounded-[9px] px-3.5 text-md font-medium text-ink-2 hover:text-ink aria-pressed:bg-surface aria-pressed:text-ink aria-pressed:shadow-raised touch:h-11"
                onClick={() => setPeriod(one)}
              >
                {t(`operator.usage.${one}`)}
              </button>
            ))}
          </div>
          <div className="flex items-center gap-1">
            <IconButton
              label={t("operator.usage.previous")}
              icon={<ChevronLeft />}
              onClick={() => setDate(shiftPeriod(period, date, -1))}
            />
            <span role="status" className="min-w-32 text-center text-md tabular-nums">
              {nameOfPeriod(period, date)}
            </span>
            <IconButton
              label={t("operator.usage.next")}
              icon={<ChevronRight />}
              disabled={isLast}
              onClick={() => setDate(shiftPeriod(period, date, 1))}
            />
          </div>
        </div>
      </PageHead>
      <div
        className={cn(
          "grid grid-cols-[minmax(0,1fr)] gap-5 min-[961px]:grid-cols-2",
          query.isPlaceholderData && "opacity-60",
        )}
      >
        <Panel title={t("operator.usage.byUser")}>
          <Loaded query={query}>
            {({ users }) => (
              <UsageList
                rows={users.map((user) => ({
                  id: user.id,
                  name: nameOfUser(user),
                  href: `/users/${user.id}`,
                  total: user,
                }))}
              />
            )}
          </Loaded>
        </Panel>
        <Panel title={t("operator.usage.byModel")}>
          <Loaded query={query}>
            {({ models }) => (
              <UsageList
                rows={models.map(({ model, users, ...total }) => ({
                  id: model,
                  name: model,
                  detail: t("operator.usage.users", { n: users }),
                  total,
                }))}
              />
            )}
          </Loaded>
        </Panel>
      </div>
    </>
  );
}

interface UsageRow {
  id: string;
  name: string;
  /** Target of the name. */
  href?: string;
  detail?: string;
  total: Usage;
}

function UsageList({ rows }: { rows: readonly UsageRow[] }) {
  if (rows.length === 0) return <Empty>{t("operator.usage.none")}</Empty>;
  // Without any known price, the bars compare tokens.
  const hasCosts = rows.some(({ total }) => total.costUsd > 0);
  const weightOf = ({ costUsd, inputTokens, outputTokens }: Usage) =>
    hasCosts ? costUsd : inputTokens + outputTokens;
  const largest = Math.max(...rows.map(({ total }) => weightOf(total)), Number.MIN_VALUE);
  return (
    <ul className="divide-y divide-line border-t border-line">
      {rows.map(({ id, name, href, detail, total }) => (
        <li key={id} className="grid gap-1 px-5 py-3 max-wide:px-4">
          <div className="flex items-baseline gap-3 text-md">
            <span className="min-w-0 flex-1 font-medium wrap-anywhere">
              {href === undefined ? (
                name
              ) : (
                <Link href={href} className="rounded-sm hover:underline touch:inline-block touch:py-3">
                  {name}
                </Link>
              )}
            </span>
            <span className="tabular-nums">{formatCost(total)}</span>
          </div>
          <div aria-hidden="true" className="h-1.5 overflow-hidden rounded-full bg-sunken">
            <div
              className="h-full rounded-full bg-chart-1"
              style={{ width: `${(weightOf(total) / largest) * 100}%` }}
            />
          </div>
          <p className="text-sm text-ink-2 tabular-nums">
            {[
              t("operator.usage.calls", { n: total.calls }),
              t("operator.usage.tokens", {
                input: formatTokenCount(total.inputTokens),
                output: formatTokenCount(total.outputTokens),
              }),
              ...(detail === undefined ? [] : [detail]),
            ].join(" · ")}
          </p>
        </li>
      ))}
    </ul>
  );
}
