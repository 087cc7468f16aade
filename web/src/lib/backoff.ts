/** Delays between attempts, in milliseconds. */
interface Backoff {
  readonly firstMs: number;
  readonly longestMs: number;
}

/**
 * Returns the delay before attempt `attempt`, counted from 0. It doubles each time, and half of it is random (from
 * `random`, 0 to 1), so that clients of a restarted server do not reconnect all at once.
 */
export function backoffMs({ firstMs, longestMs }: Backoff, attempt: number, random: number): number {
  const whole = Math.min(longestMs, firstMs * 2 ** attempt);
  return (whole / 2) * (1 + random);
}

/** Waits until the time has passed, the network is back, or the signal is aborted. */
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
