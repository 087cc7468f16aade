import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { formatNumber } from "@/lib/intl";
import { ErrorMessage } from "@/ui/error-message";
import { Field, Input, Select } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { toast } from "@/ui/toast";
import { callOperator, quotasQuery, type UserQuota, userPath } from "./api";
import { Loaded, Panel } from "./parts";
import { t } from "./t";

/** What a user may use: the settings of the server, and the operator's exceptions. */
export function QuotasPanel({ user }: { user: string }) {
  const query = useQuery(quotasQuery(user));
  return (
    <Panel title={t("operator.quotas")} about={t("operator.quotas.about")}>
      <Loaded query={query}>
        {(quotas) => <QuotasForm key={JSON.stringify(quotas.map(choiceOf))} user={user} quotas={quotas} />}
      </Loaded>
    </Panel>
  );
}

/** Choice of the operator: the setting, no limit, or a limit as it is typed. */
interface Choice {
  readonly source: "default" | "none" | "own";
  readonly limit: string;
}

function choiceOf({ exception }: UserQuota): Choice {
  if (exception === null) return { source: "default", limit: "" };
  if (exception.limit === null) return { source: "none", limit: "" };
  return { source: "own", limit: String(exception.limit) };
}

/** Returns a choice as the server reads it. */
function toChange({ source, limit }: Choice): string {
  return source === "own" ? limit : source;
}

function QuotasForm({ user, quotas }: { user: string; quotas: readonly UserQuota[] }) {
  const client = useQueryClient();
  const [choices, setChoices] = useState<Readonly<Record<string, Choice>>>({});
  const save = useMutation({
    mutationFn: () => {
      const changes = Object.entries(choices).map(([kind, choice]) => [kind, toChange(choice)]);
      return callOperator<{ quotas: UserQuota[] }>(`${userPath(user)}/quotas`, "PUT", {
        changes: Object.fromEntries(changes),
      });
    },
    onSuccess: (saved) => {
      client.setQueryData(quotasQuery(user).queryKey, saved.quotas);
      setChoices({});
      toast({ title: t("operator.quotas.saved"), tone: "ok" });
    },
  });
  return (
    <Form className="border-t border-line" busy={save.isPending} onSend={() => save.mutate()}>
      <div className="divide-y divide-line">
        {quotas.map((quota) => (
          <QuotaRow
            key={quota.kind}
            quota={quota}
            choice={choices[quota.kind] ?? choiceOf(quota)}
            onChoose={(choice) => setChoices({ ...choices, [quota.kind]: choice })}
          />
        ))}
      </div>
      <div className="grid gap-2 border-t border-line px-5 py-4 max-wide:px-4">
        <ErrorMessage error={save.error} />
        <SubmitButton
          className="justify-self-start"
          busy={save.isPending}
          disabled={Object.keys(choices).length === 0}
        >
          {t("operator.quotas.save")}
        </SubmitButton>
      </div>
    </Form>
  );
}

interface QuotaRowProps {
  quota: UserQuota;
  choice: Choice;
  onChoose: (choice: Choice) => void;
}

function QuotaRow({ quota, choice, onChoose }: QuotaRowProps) {
  const { kind, setting, used } = quota;
  const name = nameOfQuota(kind);
  const isCost = kind.startsWith("cost");
  const amount = (value: number) => formatNumber(value, { maximumFractionDigits: isCost ? 2 : 1 });
  return (
    <div className="flex flex-wrap items-end gap-2 px-5 py-3 max-wide:px-4">
      <Field
        label={name}
        hint={used === null ? undefined : t("operator.quotas.used", { amount: amount(used) })}
        className="min-w-44 flex-1"
      >
        {(ids) => (
          <Select
            {...ids}
            value={choice.source}
            onChange={(event) => onChoose({ ...choice, source: event.target.value as Choice["source"] })}
          >
            <option value="default">
              {setting === null
                ? t("operator.quotas.setting.none")
                : t("operator.quotas.setting", { limit: amount(setting) })}
            </option>
            <option value="none">{t("operator.quotas.unlimited")}</option>
            <option value="own">{t("operator.quotas.own")}</option>
          </Select>
        )}
      </Field>
      {choice.source === "own" && (
        <Input
          type="number"
          aria-label={t("operator.quotas.limit", { kind: name })}
          className={used === null ? "w-28!" : "mb-[26px] w-28!"}
          min={isCost ? "0.01" : "1"}
          step={isCost ? "0.01" : "1"}
          required
          value={choice.limit}
          onChange={(event) => onChoose({ ...choice, limit: event.target.value })}
        />
      )}
    </div>
  );
}

const kinds = [
  "tokensPerDay",
  "tokensPerMonth",
  "costPerDay",
  "costPerMonth",
  "turnsPerHour",
  "storedBytes",
  "connections",
] as const;

/** Returns the name of a quota; one that a newer server knows alone is shown as it is. */
function nameOfQuota(kind: string): string {
  const known = kinds.find((other) => other === kind);
  return known === undefined ? kind : t(`operator.quota.${known}`);
}
