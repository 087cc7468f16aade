/** Formats a number of tokens with at most three digits, such as 200k or 1M. */
export function formatTokenCount(tokens: number): string {
  if (tokens >= 1_000_000) return `${Math.round(tokens / 100_000) / 10}M`;
  return tokens >= 1_000 ? `${Math.round(tokens / 1_000)}k` : String(tokens);
}

/** Formats a price in US dollars without trailing zeros, such as $2.5 or $0.075. */
export function formatPrice(dollars: number): string {
  return `$${Number(dollars.toFixed(3))}`;
}
