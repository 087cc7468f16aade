import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Cpu, Pencil, Trash2 } from "lucide-react";
import { useId, useState } from "react";
import { quoted } from "@/lib/error-text";
import { t, tRich } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { Button, IconButton } from "@/ui/button";
import { ConfirmButton } from "@/ui/confirm-button";
import { toast, toastError } from "@/ui/toast";
import { ProviderForm } from "./provider-form";
import {
  changeProvider,
  type ModelProvider,
  modelsKey,
  type ProviderFields,
  providersQuery,
  removeProvider,
  type Tested,
  testProvider,
} from "../queries";
import { focusSection } from "../section";

interface ProviderRowProps {
  user: SignedInUser;
  provider: ModelProvider;
  /** Result of the test right after adding it. */
  tested?: Tested | undefined;
}

/** Row of a provider with the actions test, edit and remove. */
export function ProviderRow({ user, provider, tested }: ProviderRowProps) {
  const client = useQueryClient();
  const id = useId();
  const [open, setOpen] = useState(false);
  const { name } = provider;

  async function reload(): Promise<void> {
    await client.invalidateQueries({ queryKey: providersQuery(user.id).queryKey });
    await client.invalidateQueries({ queryKey: modelsKey });
  }

  const test = useMutation({ mutationFn: () => testProvider(provider.id), onSuccess: reload });
  const change = useMutation({
    mutationFn: (fields: ProviderFields) => changeProvider(provider.id, fields),
    onSuccess: async () => {
      setOpen(false);
      document.getElementById(`${id}-edit`)?.focus();
      await reload();
      test.mutate();
    },
  });
  const remove = useMutation({
    mutationFn: () => removeProvider(provider.id),
    onSuccess: async () => {
      focusSection();
      await reload();
      toast({ title: t("models.provider.removed"), description: name, tone: "ok" });
    },
    onError: toastError,
  });
  const outcome = test.data ?? tested;

  return (
    <li className="py-2.5 pr-2 pl-4">
      <div className="flex items-start gap-3">
        <Cpu aria-hidden="true" className="mt-1 size-4 shrink-0 text-ink-2" />
        <div className="min-w-0 flex-1 text-md">
          <p className="wrap-anywhere">{name}</p>
          <p className="text-sm text-ink-2 wrap-anywhere">
            {[t(`models.kind.${provider.kind}`), provider.baseUrl].join(" · ")}
          </p>
          <p className="text-sm text-ink-2 wrap-anywhere">{keyOf(provider)}</p>
        </div>
        <IconButton
          id={`${id}-edit`}
          size="sm"
          label={t("models.provider.edit", { name })}
          aria-expanded={open}
          icon={<Pencil />}
          onClick={() => setOpen(!open)}
        />
        <ConfirmButton
          trigger={<Trash2 aria-hidden="true" />}
          label={t("models.provider.remove", { name })}
          question={t("models.provider.remove.question", { name })}
          confirm={t("models.provider.remove.confirm")}
          onConfirm={() => remove.mutate()}
        />
      </div>
      <div className="mt-1.5 flex flex-wrap items-center gap-x-3 gap-y-1.5 pl-7">
        <Button
          size="sm"
          busy={test.isPending}
          disabled={test.isPending}
          aria-label={t("models.provider.test.label", { name })}
          onClick={() => test.mutate()}
        >
          {t("models.provider.test")}
        </Button>
        <p role="status" className="min-w-0 flex-1 basis-56 text-sm wrap-anywhere">
          <TestOutcome outcome={outcome} failed={test.error?.message} />
        </p>
      </div>
      {open && (
        <div className="animate-enter pt-3 pr-2 pb-2 pl-7">
          <ProviderForm
            provider={provider}
            busy={change.isPending}
            error={change.error?.message}
            onSend={(_, fields) => change.mutate(fields)}
          />
        </div>
      )}
    </li>
  );
}

function TestOutcome({ outcome, failed }: { outcome: Tested | undefined; failed: string | undefined }) {
  if (failed !== undefined) return <span className="text-err">{failed}</span>;
  if (outcome === undefined) return null;
  if (outcome.ok) return <span className="text-ok">{t("models.provider.works", { n: outcome.models })}</span>;
  return (
    <span className="text-err">{tRich("models.provider.fails", { reason: outcome.reason, q: quoted })}</span>
  );
}

function keyOf({ hasKey, hint }: ModelProvider): string {
  if (!hasKey) return t("models.provider.noKey");
  return hint === null ? t("models.provider.hasKey") : t("models.provider.keyEnds", { hint });
}
