import { useEffect, useState } from "react";
import { formatDuration } from "@/lib/format";

const UPDATE_INTERVAL_MS = 100;

/** Time since `since` (milliseconds since 1970), updated every second. */
export function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), UPDATE_INTERVAL_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <>{formatDuration(Math.max(0, Math.floor((now - since) / UPDATE_INTERVAL_MS) * UPDATE_INTERVAL_MS))}</>
  );
}
