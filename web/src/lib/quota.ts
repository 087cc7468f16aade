import { formatNumber } from "./intl";
import { t } from "./later-texts";
import { formatDollars } from "./usage";

/** A quota that the operator gives to each user. */
export interface Quota {
  readonly kind: "tokensPerDay" | "tokensPerMonth" | "costPerDay" | "costPerMonth" | "turnsPerHour";
  /** Tokens, turns, or US dollars. */
  readonly limit: number;
  /** In the unit of the limit. */
  readonly used: number;
  /** ISO time of the renewal. */
  readonly resetsAt: string;
}

/** Returns true if nothing of a quota is left. */
export function isSpent({ used, limit }: Quota): boolean {
  return used >= limit;
}

/** Says how much of a quota is used. */
export function quotaInWords(quota: Quota): string {
  const amounts = { used: formatAmount(quota, quota.used), all: formatAmount(quota, quota.limit) };
  switch (quota.kind) {
    case "tokensPerDay":
      return t("models.quota.tokensPerDay", amounts);
    case "tokensPerMonth":
      return t("models.quota.tokensPerMonth", amounts);
    case "costPerDay":
      return t("models.quota.costPerDay", amounts);
    case "costPerMonth":
      return t("models.quota.costPerMonth", amounts);
    case "turnsPerHour":
      return t("models.quota.turnsPerHour", amounts);
  }
}

/** Says when a quota is renewed. */
export function renewalInWords({ kind }: Quota): string {
  if (kind === "turnsPerHour") return t("models.quota.nextHour");
  return t(kind.endsWith("Day") ? "models.quota.nextDay" : "models.quota.nextMonth");
}

function formatAmount({ kind }: Quota, amount: number): string {
  if (!kind.startsWith("cost")) return formatNumber(amount);
  return formatDollars(amount, { maximumFractionDigits: amount > 0 && amount < 0.1 ? 4 : 2 });
}
