import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { showInvisible } from "@/lib/show-invisible";
import { Badge, type Tone } from "@/ui/badge";
import { Button } from "@/ui/button";
import { toastError } from "@/ui/toast";
import { whenOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { type Call, type CallPage, callsQuery, loadCalls } from "./queries";
import { Section } from "./section";

/** Log of tool calls, with who approved each. */
export function CallsSection({ user }: { user: SignedInUser }) {
  const query = callsQuery(user.id);
  const { data: first, error } = useQuery(query);
  const [older, setOlder] = useState<CallPage>();
  const next = older ? older.next : first?.next;
  const more = useMutation({
    mutationFn: (before: string) => loadCalls(before),
    onSuccess: (page) => setOlder({ calls: [...(older?.calls ?? []), ...page.calls], next: page.next }),
    onError: toastError,
  });
  const calls = [...(first?.calls ?? []), ...(older?.calls ?? [])];
  return (
    <Section
      title={t("account.calls")}
      about={t("account.calls.about")}
      foot={
        typeof next === "string" && (
          <div className="justify-self-start">
            <Button
              size="sm"
              busy={more.isPending}
              disabled={more.isPending}
              onClick={() => more.mutate(next)}
            >
              {t("account.calls.more")}
            </Button>
          </div>
        )
      }
    >
      {first === undefined && (error ? <FailedRow queryKey={query.queryKey} /> : <LoadingRow />)}
      {first?.calls.length === 0 && <p className="px-4 py-3 text-md text-ink-2">{t("account.calls.none")}</p>}
      {calls.length > 0 && (
        <ul className="divide-y divide-line">
          {calls.map((call) => (
            <CallRow key={call.id} call={call} />
          ))}
        </ul>
      )}
    </Section>
  );
}

const TONES: Readonly<Record<Call["outcome"], Tone>> = {
  done: "ok",
  error: "err",
  unknown: "warn",
  stopped: "neutral",
  denied: "neutral",
};

function CallRow({ call }: { call: Call }) {
  return (
    <li className="flex items-start gap-3 px-4 py-2.5 text-md">
      <div className="min-w-0 flex-1">
        <p className="font-mono text-sm wrap-anywhere">{showInvisible(call.tool)}</p>
        <p className="text-sm text-ink-2 wrap-anywhere">
          {[call.serverName, t(`account.calls.by.${call.allowedBy}`), whenOf(call.at)].join(" · ")}
        </p>
      </div>
      <Badge tone={TONES[call.outcome]}>{t(`account.calls.outcome.${call.outcome}`)}</Badge>
    </li>
  );
}
