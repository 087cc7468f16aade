import { formatNumber } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import { formatCost, type Usage } from "@/lib/usage";
import { tokensOf } from "./usage";

interface Row {
  readonly name: string;
  /** Cell between the name and the figures. */
  readonly detail?: string;
  readonly total: Usage;
}

interface UsageTableProps {
  caption: string;
  /** Heading of the first column. */
  first: string;
  /** Heading of the second column, if the rows have details. */
  second?: string;
  rows: readonly Row[];
  sum?: Usage;
  /** Leaves the table to screen readers. */
  isHidden?: boolean;
}

/** Table of tokens and costs; estimates are marked. */
export function UsageTable({ caption, first, second, rows, sum, isHidden = false }: UsageTableProps) {
  return (
    <div className={isHidden ? "sr-only" : "overflow-x-auto px-4 py-2.5"}>
      <table className="w-full text-sm tabular-nums">
        <caption className="sr-only">{caption}</caption>
        <thead className="text-ink-2">
          <tr>
            <th scope="col" className="py-1 pr-3 text-left font-normal">
              {first}
            </th>
            {second !== undefined && (
              <th scope="col" className="py-1 pr-3 text-left font-normal">
                {second}
              </th>
            )}
            <th scope="col" className="py-1 pl-3 text-right font-normal">
              {t("models.report.tokens")}
            </th>
            <th scope="col" className="py-1 pl-3 text-right font-normal">
              {t("models.report.cost")}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, detail, total }) => (
            <tr key={`${name} ${detail}`} className="border-t border-line align-top">
              <th scope="row" className="py-1.5 pr-3 text-left font-normal wrap-anywhere">
                {name}
              </th>
              {detail !== undefined && <td className="py-1.5 pr-3 wrap-anywhere">{detail}</td>}
              <Figures total={total} />
            </tr>
          ))}
        </tbody>
        {sum !== undefined && (
          <tfoot>
            <tr className="border-t border-line-strong font-medium">
              <th scope="row" className="py-1.5 pr-3 text-left font-medium">
                {t("models.report.sum")}
              </th>
              <Figures total={sum} />
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

function Figures({ total }: { total: Usage }) {
  const tokens = tokensOf(total);
  return (
    <>
      <td className="py-1.5 pl-3 text-right whitespace-nowrap">
        {total.estimatedCalls > 0 ? t("models.report.about.tokens", { n: tokens }) : formatNumber(tokens)}
      </td>
      <td className="py-1.5 pl-3 text-right whitespace-nowrap">{formatCost(total)}</td>
    </>
  );
}
