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
