import { useEffect, useState } from "react";

/** Returns the remaining seconds, counted down to 0, and a function to restart. */
export function useCountdown(initialSeconds: number): [number, (seconds: number) => void] {
  const [end, setEnd] = useState(() => performance.now() + initialSeconds * 1_000);
  const [now, setNow] = useState(() => performance.now());
  const left = Math.max(0, Math.ceil((end - now) / 1_000));
  const running = left > 0;
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNow(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  function begin(seconds: number): void {
    const started = performance.now();
    setNow(started);
    setEnd(started + seconds * 1_000);
  }
  return [left, begin];
}
