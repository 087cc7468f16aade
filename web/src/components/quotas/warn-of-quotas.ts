import type { QueryClient } from "@tanstack/react-query";
import { callApi } from "@/lib/api-client";
import { t } from "@/lib/later-texts";
import { isSpent, type Quota, quotaInWords, quotaAdvice } from "@/lib/quota";
import { toast } from "@/ui/toast";

/** Share of a quota from which the user is warned. */
const WARNING_SHARE = 0.8;

/** Quotas with their renewals that the page has warned of, as long as they are nearly used up. */
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
    if (quota.used < quota.limit * WARNING_SHARE) {
      warned.delete(period);
      continue;
    }
    // The next attempt says that a renewed quota is spent; the others are left as they are for long.
    const isSilent = isSpent(quota) && quota.resetsAt !== null;
    if (isSilent || warned.has(period)) continue;
    warned.add(period);
    const description = `${quotaInWords(quota)} ${quotaAdvice(quota)}`;
    toast({ title: t("models.quota.nearEnd"), description, tone: "warn" });
  }
}
