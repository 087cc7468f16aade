/** How long to wait before trying again, in milliseconds. */
export interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * The wait before attempt number `attempt`, counted from 0: twice as long each time. Half of it is random (from
 * `random`, 0 to 1), so that the pages of one server that restarts do not all come back at once.
 */
export function backoffMs({ firstMs, longestMs }: Backoff, attempt: number, random: number): number {
  const whole = Math.min(longestMs, firstMs * 2 ** attempt);
  return (whole / 2) * (1 + random);
}

/** Ends after the time, when the network comes back, or when nobody waits any more. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = new AbortController();
    const end = () => {
      done.abort();
      resolve();
    };
    const timer = setTimeout(end, ms);
    done.signal.addEventListener("abort", () => clearTimeout(timer));
    window.addEventListener("online", end, { signal: done.signal });
    signal.addEventListener("abort", end, { signal: done.signal });
    if (signal.aborted) end();
  });
}
