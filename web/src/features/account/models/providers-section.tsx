import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { messageOf } from "@/lib/api-error";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { FailedRow, LoadingRow } from "../load-state";
import { ProviderForm } from "./provider-form";
import { ProviderRow } from "./provider-row";
import {
  addProvider,
  type Kind,
  modelsKey,
  type ProviderFields,
  providersQuery,
  type Tested,
  testProvider,
} from "../queries";
import { Section } from "../section";
import { SettingRow } from "../setting-row";

/** The user's own model providers. */
export function ModelProvidersSection({ user }: { user: SignedInUser }) {
  const query = providersQuery(user.id);
  const { data: providers, error } = useQuery(query);
  const [added, setAdded] = useState<{ id: string; tested: Tested }>();
  return (
    <Section about={t("models.providers.about")}>
      {providers === undefined && (error ? <FailedRow queryKey={query.queryKey} /> : <LoadingRow />)}
      {providers !== undefined && providers.length > 0 && (
        <ul className="divide-y divide-line">
          {providers.map((provider) => (
            <ProviderRow
              key={provider.id}
              user={user}
              provider={provider}
              tested={added?.id === provider.id ? added.tested : undefined}
            />
          ))}
        </ul>
      )}
      {providers !== undefined && (
        <SettingRow part="model-provider" label={t("models.provider")} action={t("models.provider.add")}>
          {(close) => <NewProvider user={user} onDone={close} onTested={setAdded} />}
        </SettingRow>
      )}
    </Section>
  );
}

interface NewProviderProps {
  user: SignedInUser;
  onDone: () => void;
  onTested: (added: { id: string; tested: Tested }) => void;
}

/** Form that adds a provider and tests it at once, so that a wrong key is noticed. */
function NewProvider({ user, onDone, onTested }: NewProviderProps) {
  const client = useQueryClient();
  const add = useMutation({
    mutationFn: async ({ kind, fields }: { kind: Kind; fields: ProviderFields }) => {
      const { id } = await addProvider(kind, fields);
      const tested = await testProvider(id).catch((cause: unknown): Tested => {
        return { ok: false, reason: messageOf(cause) };
      });
      return { id, tested };
    },
    onSuccess: async (tested) => {
      onTested(tested);
      onDone();
      await client.invalidateQueries({ queryKey: providersQuery(user.id).queryKey });
      await client.invalidateQueries({ queryKey: modelsKey });
    },
  });
  return (
    <ProviderForm
      busy={add.isPending}
      error={add.error?.message}
      onSend={(kind, fields) => add.mutate({ kind, fields })}
    />
  );
}
