import type { QueryClient } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";
import { t } from "@/lib/later-texts";
import { isSpent, type Quota, quotaInWords, renewalInWords } from "@/lib/quota";
import { toast } from "@/ui/toast";

/** Share of a quota from which the user is warned. */
const WARNING_SHARE = 0.8;

/** Quotas with their renewals that the page has warned of. */
const warned = new Set<string>();

/** Warns, once in each period, of quotas that are nearly used up. */
export async function warnOfQuotas(queries: QueryClient): Promise<void> {
  const load = async () => (await callApi<{ quotas: Quota[] }>("/api/quotas")).quotas;
  // The warning is a courtesy: the server refuses what is too much in any case.
  const quotas = await queries
    .fetchQuery({ queryKey: ["quotas"], queryFn: load, staleTime: 0 })
    .catch(() => []);
  for (const quota of quotas) {
    const period = `${quota.kind} ${quota.resetsAt ?? ""}`;
    if (quota.used < quota.limit * WARNING_SHARE || isSpent(quota) || warned.has(period)) continue;
    warned.add(period);
    const description = `${quotaInWords(quota)} ${renewalInWords(quota)}`;
    toast({ title: t("models.quota.nearEnd"), description, tone: "warn" });
  }
}
