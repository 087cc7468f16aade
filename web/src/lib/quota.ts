import { formatBytes } from "./format-bytes";
import { formatNumber } from "./intl";
import { t } from "./later-texts";
import { formatDollars } from "./usage";

/** A quota that the operator gives to each user. */
export interface Quota {
  readonly kind:
    | "tokensPerDay"
    | "tokensPerMonth"
    | "costPerDay"
    | "costPerMonth"
    | "turnsPerHour"
    | "storedBytes"
    | "connections";
  /** Tokens, US dollars, turns, bytes, or connections. */
  readonly limit: number;
  /** In the unit of the limit. */
  readonly used: number;
  /** ISO time of the renewal; null if it is never renewed. */
  readonly resetsAt: string | null;
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
    case "storedBytes":
      return t("models.quota.storedBytes", amounts);
    case "connections":
      return t("models.quota.connections", amounts);
  }
}

/** Says when a quota is renewed, or how to free some of it. */
export function quotaAdvice({ kind }: Quota): string {
  switch (kind) {
    case "tokensPerDay":
    case "costPerDay":
      return t("models.quota.nextDay");
    case "tokensPerMonth":
    case "costPerMonth":
      return t("models.quota.nextMonth");
    case "turnsPerHour":
      return t("models.quota.nextHour");
    case "storedBytes":
      return t("models.quota.deleteFiles");
    case "connections":
      return t("models.quota.deleteConnections");
  }
}

/** Returns true if a quota limits tokens or the cost of the operator's models. */
export function isOfModels({ kind }: Quota): boolean {
  return kind.startsWith("tokens") || kind.startsWith("cost");
}

function formatAmount({ kind }: Quota, amount: number): string {
  if (kind === "storedBytes") return formatBytes(amount);
  if (!kind.startsWith("cost")) return formatNumber(amount);
  return formatDollars(amount, { maximumFractionDigits: amount > 0 && amount < 0.1 ? 4 : 2 });
}
