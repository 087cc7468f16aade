import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { callApi } from "@/lib/api-client";
import { t } from "@/lib/later-texts";
import { isSpent, type Quota, quotaInWords, renewalInWords } from "@/lib/quota";
import { toast } from "@/ui/toast";
import { useChatStatus } from "../chat-context";
import type { ChatStore } from "../stream/chat-store";

/** Share of a quota from which the user is warned. */
const WARNING_SHARE = 0.8;

const quotasKey = ["quotas"];

/** Warns once in each period, after an answer, that a quota is nearly used up. */
export function QuotaWarning({ store }: { store: ChatStore }) {
  const { ids, phase } = useChatStatus(store);
  const queries = useQueryClient();
  const last = ids.at(-1);
  useEffect(() => {
    if (phase === "idle" && last !== undefined) void warn(queries);
  }, [queries, phase, last]);
  return null;
}

/** Quotas with their renewals that the page has warned of. */
const warned = new Set<string>();

async function warn(queries: QueryClient): Promise<void> {
  // Who has no quota is not asked about again.
  if (queries.getQueryData<readonly Quota[]>(quotasKey)?.length === 0) return;
  const load = async () => (await callApi<{ quotas: Quota[] }>("/api/quotas")).quotas;
  // The warning is a courtesy: the server refuses what is too much in any case.
  const quotas = await queries
    .fetchQuery({ queryKey: quotasKey, queryFn: load, staleTime: 0 })
    .catch(() => []);
  for (const quota of quotas) {
    const period = `${quota.kind} ${quota.resetsAt}`;
    if (quota.used < quota.limit * WARNING_SHARE || isSpent(quota) || warned.has(period)) continue;
    warned.add(period);
    const description = `${quotaInWords(quota)} ${renewalInWords(quota)}`;
    toast({ title: t("models.quota.nearEnd"), description, tone: "warn" });
  }
}
