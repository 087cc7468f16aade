import { useEffect, useState } from "react";

/** A value as soon as it has stayed the same for so many milliseconds. */
export function useSettled(value: string, quietMs: number): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), quietMs);
    return () => clearTimeout(timer);
  }, [value, quietMs]);
  return settled;
}
