import { formatNumber } from "@/lib/intl";

/** Formats a number of tokens with few digits, such as 200K or 1.1M. */
export function formatTokenCount(tokens: number): string {
  return formatNumber(tokens, { notation: "compact", maximumFractionDigits: tokens >= 1_000_000 ? 1 : 0 });
}

/** Formats a price in US dollars without trailing zeros, such as $2.5 or $0.075. */
export function formatPrice(dollars: number): string {
  return formatNumber(dollars, {
    style: "currency",
    currency: "USD",
    currencyDisplay: "narrowSymbol",
    minimumFractionDigits: 0,
    maximumFractionDigits: 3,
  });
}
