import { formatNumber } from "./intl";
import { t } from "./later-texts";

/** Usage of model calls in tokens. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Part of the input tokens that came from a cache. */
  readonly cachedInputTokens: number;
  readonly calls: number;
  /** Number of calls whose provider reported incomplete usage. */
  readonly estimatedCalls: number;
  /** US dollars, as far as prices are known. */
  readonly costUsd: number;
  /** Number of calls without a known price. */
  readonly unpricedCalls: number;
}

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
  const amount = formatDollars(costUsd, { minimumFractionDigits: 2, maximumFractionDigits: digits });
  if (unpricedCalls > 0) return t("models.cost.atLeast", { amount });
  return estimatedCalls > 0 ? t("models.cost.about", { amount }) : amount;
}

/** Formats an amount of US dollars with as many digits as `digits` says. */
export function formatDollars(dollars: number, digits: Intl.NumberFormatOptions): string {
  return formatNumber(dollars, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    ...digits,
  });
}

/** Formats a number of tokens with few digits, such as 200K or 1.1M. */
export function formatTokenCount(tokens: number): string {
  return formatNumber(tokens, { notation: "compact", maximumFractionDigits: tokens >= 1_000_000 ? 1 : 0 });
}

/** Formats a price in US dollars without trailing zeros, such as $2.5 or $0.075. */
export function formatPrice(dollars: number): string {
  return formatDollars(dollars, { minimumFractionDigits: 0, maximumFractionDigits: 3 });
}
