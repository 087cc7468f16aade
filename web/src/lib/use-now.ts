import { useEffect, useState } from "react";

/** Returns the time in milliseconds since 1970, updated at an interval; first it is `initial`. */
export function useNow(intervalMs: number, initial: () => number = Date.now): number {
  const [now, setNow] = useState(initial);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), intervalMs);
    return () => clearInterval(timer);
  }, [intervalMs]);
  return now;
}
