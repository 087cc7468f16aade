/** What calls of models cost, in tokens. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Of the tokens read, those that came from a cache. */
  readonly cachedInputTokens: number;
  readonly calls: number;
  /** Of the calls, those whose provider did not tell all of it. */
  readonly estimatedCalls: number;
  /** US dollars, as far as prices are known. */
  readonly costUsd: number;
  /** Of the calls, those whose price is not known. */
  readonly unpricedCalls: number;
}
