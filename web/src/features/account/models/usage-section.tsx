import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import { isOfModels, isSpent, type Quota, quotaInWords, quotaAdvice } from "@/lib/quota";
import { saveFile } from "@/lib/save-file";
import type { SignedInUser } from "@/lib/session";
import { Button } from "@/ui/button";
import { Select } from "@/ui/field";
import { ChoiceGroup } from "../choice-group";
import { FailedRow, LoadingRow } from "../load-state";
import { byModel, dayOf, type Measure, ranges, toCsv, type UsageReport, wholeOf } from "./usage";
import { UsageChart } from "./usage-chart";
import { UsageTable } from "./usage-table";
import { usageQuery } from "../queries";
import { Section } from "../section";

/** Usage and cost of model calls, by day and by model. */
export function UsageSection({ user }: { user: SignedInUser }) {
  const [range, setRange] = useState<number>(30);
  const query = usageQuery(user.id, range);
  const { data: report, error } = useQuery(query);
  return (
    <Section about={t("models.report.about")}>
      <div className="flex flex-wrap items-center gap-3 px-4 py-2.5">
        <div className="min-w-36 flex-1">
          <Select
            aria-label={t("models.report.range")}
            value={range}
            onChange={(event) => setRange(Number(event.target.value))}
          >
            {ranges.map((days) => (
              <option key={days} value={days}>
                {t("models.report.days", { n: days })}
              </option>
            ))}
          </Select>
        </div>
        <Button
          size="sm"
          disabled={report === undefined || report.days.length === 0}
          onClick={() => report !== undefined && save(report)}
        >
          <Download aria-hidden="true" />
          {t("models.report.save")}
        </Button>
      </div>
      {report === undefined ? (
        error ? (
          <FailedRow queryKey={query.queryKey} />
        ) : (
          <LoadingRow />
        )
      ) : (
        <Report report={report} />
      )}
    </Section>
  );
}

function Report({ report }: { report: UsageReport }) {
  const { days, quotas } = report;
  const whole = wholeOf(days);
  const [view, setView] = useState<"chart" | "table">("chart");
  const [measure, setMeasure] = useState<Measure>("tokens");
  const hasCosts = whole.costUsd > 0;
  return (
    <>
      {quotas.length > 0 && (
        <div className="grid gap-1 px-4 py-2.5 text-md">
          {quotas.filter(isOfModels).map((quota) => (
            <QuotaLine key={quota.kind} quota={quota} />
          ))}
          {quotas.some(isOfModels) && <p className="text-ink-2">{t("models.quota.own")}</p>}
          {quotas
            .filter((quota) => !isOfModels(quota))
            .map((quota) => (
              <QuotaLine key={quota.kind} quota={quota} />
            ))}
        </div>
      )}
      {days.length === 0 ? (
        <p className="px-4 py-3 text-md text-ink-2">{t("models.report.none")}</p>
      ) : (
        <>
          <div className="flex flex-wrap justify-between gap-x-3 gap-y-2 px-4 py-2.5">
            <ChoiceGroup
              name="usage-view"
              aria-label={t("models.report.view")}
              choices={[
                { value: "chart", label: t("models.report.view.chart") },
                { value: "table", label: t("models.report.view.table") },
              ]}
              chosen={view}
              onChoose={setView}
            />
            {hasCosts && view === "chart" && (
              <ChoiceGroup
                name="usage-measure"
                aria-label={t("models.report.measure")}
                choices={[
                  { value: "tokens", label: t("models.report.tokens") },
                  { value: "cost", label: t("models.report.cost") },
                ]}
                chosen={measure}
                onChoose={setMeasure}
              />
            )}
          </div>
          {view === "chart" && <UsageChart report={report} measure={hasCosts ? measure : "tokens"} />}
          {/* Screen readers read the table in place of the chart. */}
          <UsageTable
            caption={t("models.report.byDay")}
            first={t("models.report.day")}
            second={t("models.report.model")}
            rows={days.toReversed().map((row) => ({ name: dayOf(row.day), detail: row.model, total: row }))}
            isHidden={view === "chart"}
          />
          <UsageTable
            caption={t("models.report.byModel")}
            first={t("models.report.model")}
            rows={byModel(report)}
            sum={whole}
          />
          {(whole.estimatedCalls > 0 || whole.unpricedCalls > 0) && (
            <p className="px-4 py-2.5 text-sm text-ink-2">
              {whole.estimatedCalls > 0 &&
                t("models.usage.estimated", { n: whole.estimatedCalls, all: whole.calls })}{" "}
              {whole.unpricedCalls > 0 &&
                t("models.report.unpriced", { n: whole.unpricedCalls, all: whole.calls })}
            </p>
          )}
        </>
      )}
    </>
  );
}

function QuotaLine({ quota }: { quota: Quota }) {
  return (
    <p className={isSpent(quota) ? "text-warn" : undefined}>
      {quotaInWords(quota)} {isSpent(quota) && quotaAdvice(quota)}
    </p>
  );
}

function save(report: UsageReport): void {
  const content = new Blob([toCsv(report)], { type: "text/csv" });
  saveFile({ name: `usage-${report.from}-${report.to}.csv`, content });
}
