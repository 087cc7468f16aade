import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { warnOfQuotas } from "@/components/quotas/warn-of-quotas";
import { useChatStatus } from "../chat-context";
import type { ChatStore } from "../stream/chat-store";

/** Warns after an answer of quotas that are nearly used up. */
export function QuotaWarning({ store }: { store: ChatStore }) {
  const { phase } = useChatStatus(store);
  const queries = useQueryClient();
  const before = useRef(phase);
  useEffect(() => {
    if (phase === "idle" && before.current !== "idle") void warnOfQuotas(queries);
    before.current = phase;
  }, [queries, phase]);
  return null;
}
