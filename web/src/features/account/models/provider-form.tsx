import { useState } from "react";
import { t } from "@/lib/later-texts";
import { Field, Select, TextField, Checkbox } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { type Kind, kinds, type ModelProvider, type ProviderFields, usualAddress } from "../queries";

interface ProviderFormProps {
  /** Provider to edit; absent for a new one. */
  provider?: ModelProvider;
  busy: boolean;
  error?: string | undefined;
  onSend: (kind: Kind, fields: ProviderFields) => void;
}

/** Form for a provider's address and key. The stored key is never shown. */
export function ProviderForm({ provider, busy, error, onSend }: ProviderFormProps) {
  const [kind, setKind] = useState<Kind>(provider?.kind ?? "openai");
  const [name, setName] = useState(provider?.name ?? "");
  const [address, setAddress] = useState(provider?.baseUrl ?? "");
  const [key, setKey] = useState("");
  const [noKey, setNoKey] = useState(false);
  const usual = usualAddress[kind];

  function send(): void {
    const entered = key.trim();
    onSend(kind, {
      name: name.trim() || t(`models.kind.${kind}`),
      baseUrl: address.trim() || (usual ?? ""),
      ...(noKey ? { key: "" } : entered && { key: entered }),
    });
  }

  return (
    <Form className="grid gap-3" busy={busy} onSend={send}>
      {provider === undefined && (
        <Field label={t("models.provider.kind")}>
          {(ids) => (
            <Select {...ids} value={kind} onChange={(event) => setKind(event.target.value as Kind)}>
              {kinds.map((one) => (
                <option key={one} value={one}>
                  {t(`models.kind.${one}`)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      <TextField
        label={t("models.provider.name")}
        hint={t("models.provider.name.hint")}
        name="provider-name"
        autoComplete="off"
        maxLength={100}
        placeholder={t(`models.kind.${kind}`)}
        value={name}
        onChange={setName}
      />
      <TextField
        label={t("models.provider.address")}
        error={error}
        name="provider-address"
        type="url"
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        required={usual === undefined}
        maxLength={2000}
        placeholder={usual ?? "https://host.example/v1"}
        value={address}
        onChange={setAddress}
      />
      <TextField
        label={t("models.provider.key")}
        hint={t(provider?.hasKey === true ? "models.provider.key.kept" : "models.provider.key.hint")}
        name="provider-key"
        type="password"
        autoComplete="off"
        disabled={noKey}
        maxLength={2000}
        value={key}
        onChange={setKey}
      />
      {provider?.hasKey === true && (
        <Checkbox
          className="text-md"
          label={t("models.provider.key.remove")}
          checked={noKey}
          onChange={setNoKey}
        />
      )}
      <SubmitButton className="justify-self-start" busy={busy}>
        {t(provider === undefined ? "models.provider.add" : "models.provider.save")}
      </SubmitButton>
    </Form>
  );
}
