import { formatNumber } from "./intl";
import { t } from "@/lib/later-texts";

interface Cost {
  readonly costUsd: number;
  readonly calls: number;
  readonly estimatedCalls: number;
  readonly unpricedCalls: number;
}

/** Formats a cost in US dollars: estimates are marked, unknown prices are a dash. */
export function formatCost({ costUsd, calls, estimatedCalls, unpricedCalls }: Cost): string {
  if (unpricedCalls >= calls) return t("models.cost.unknown");
  const digits = costUsd > 0 && costUsd < 0.1 ? 4 : 2;
  const amount = formatNumber(costUsd, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  });
  if (unpricedCalls > 0) return t("models.cost.atLeast", { amount });
  return estimatedCalls > 0 ? t("models.cost.about", { amount }) : amount;
}
