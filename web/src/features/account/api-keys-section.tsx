import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Trash2 } from "lucide-react";
import { type ApiKey, apiKeysQuery, endApiKey, isExpired } from "@/components/account/queries";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { Badge } from "@/ui/badge";
import { ConfirmButton } from "@/ui/confirm-button";
import { toast, toastError } from "@/ui/toast";
import { ApiKeyForm } from "./api-key-form";
import { dayOf, whenOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { focusSection, Section } from "./section";
import { SettingRow } from "./setting-row";

/** The user's API keys. */
export function ApiKeysSection({ user }: { user: SignedInUser }) {
  const { queryKey } = apiKeysQuery(user.id);
  const { data: keys, error } = useQuery(apiKeysQuery(user.id));
  return (
    <Section about={t("account.keys.about", { address: `${location.origin}/v1` })}>
      {keys === undefined && (error ? <FailedRow queryKey={queryKey} /> : <LoadingRow />)}
      {keys !== undefined && keys.length > 0 && (
        <ul className="divide-y divide-line">
          {keys.map((key) => (
            <KeyRow key={key.id} user={user} apiKey={key} />
          ))}
        </ul>
      )}
      {keys !== undefined && (
        <SettingRow part="api-key" label={t("account.keys.new")} action={t("account.keys.add")}>
          {(close) => <ApiKeyForm user={user} onDone={close} />}
        </SettingRow>
      )}
    </Section>
  );
}

function KeyRow({ user, apiKey }: { user: SignedInUser; apiKey: ApiKey }) {
  const client = useQueryClient();
  const { name, hint, lastUsedAt, expiresAt } = apiKey;
  const isOver = isExpired(apiKey);
  const end = useMutation({
    mutationFn: () => endApiKey(apiKey.id),
    onSuccess: async () => {
      focusSection();
      await client.invalidateQueries({ queryKey: apiKeysQuery(user.id).queryKey });
      toast({ title: t("account.keys.ended"), description: name, tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <li className="flex items-center gap-3 py-2.5 pr-2 pl-4">
      <KeyRound aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
      <div className="min-w-0 flex-1 text-md">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5 wrap-anywhere">
          {name}
          {apiKey.scopes.includes("tools") && <Badge tone="neutral">{t("account.keys.withTools")}</Badge>}
          {isOver && <Badge tone="err">{t("account.keys.expired")}</Badge>}
        </p>
        <p className="flex flex-wrap gap-x-2 text-sm text-ink-2 tabular-nums">
          <span className="font-mono">{t("account.keys.hint", { hint })}</span>
          <span>
            {lastUsedAt === null
              ? t("account.keys.unused", { day: dayOf(apiKey.createdAt) })
              : t("account.keys.lastUsed", { when: whenOf(lastUsedAt) })}
          </span>
          {expiresAt !== null && !isOver && (
            <span>{t("account.keys.expires", { day: dayOf(expiresAt) })}</span>
          )}
        </p>
      </div>
      <ConfirmButton
        trigger={<Trash2 aria-hidden="true" />}
        label={t("account.keys.end", { name })}
        question={t("account.keys.end.question", { name })}
        confirm={t("account.keys.end.confirm")}
        onConfirm={() => end.mutate()}
      />
    </li>
  );
}
