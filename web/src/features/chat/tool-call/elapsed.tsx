import { useEffect, useState } from "react";
import { formatDuration } from "@/lib/format";

const EVERY_MS = 100;

/** Time since `since` (milliseconds since 1970), updated every second. */
export function Elapsed({ since }: { since: number }) {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return <>{formatDuration(Math.max(0, Math.floor((now - since) / EVERY_MS) * EVERY_MS))}</>;
}
