import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { apiKeysQuery, makeApiKey } from "@/components/account/queries";
import { withApiProof } from "@/components/account/step-up";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { CopyButton } from "@/markdown/copy-button";
import { Button } from "@/ui/button";
import { Field, Select, TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";

/** Maximum length of a name. */
const MAX_NAME_CHARS = 100;

interface ApiKeyFormProps {
  user: SignedInUser;
  onDone: () => void;
}

/** Form that creates an API key and shows it once. */
export function ApiKeyForm({ user, onDone }: ApiKeyFormProps) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [tools, setTools] = useState(false);
  const [days, setDays] = useState("90");
  const make = useMutation({
    mutationFn: () => withApiProof(() => makeApiKey(name.trim(), tools, days === "" ? null : Number(days))),
    onSuccess: () => void client.invalidateQueries({ queryKey: apiKeysQuery(user.id).queryKey }),
  });
  if (make.data !== undefined) return <Secret secret={make.data} onDone={onDone} />;
  return (
    <Form className="grid gap-3" busy={make.isPending} onSend={() => make.mutate()}>
      <TextField
        label={t("account.keys.name")}
        hint={t("account.keys.name.hint")}
        error={make.error?.message}
        name="key-name"
        autoComplete="off"
        required
        pattern=".*\S.*"
        maxLength={MAX_NAME_CHARS}
        value={name}
        onChange={setName}
      />
      <Field label={t("account.keys.expiry")}>
        {(ids) => (
          <Select {...ids} name="key-expiry" value={days} onChange={(event) => setDays(event.target.value)}>
            <option value="30">{t("account.keys.expiry.month")}</option>
            <option value="90">{t("account.keys.expiry.quarter")}</option>
            <option value="365">{t("account.keys.expiry.year")}</option>
            <option value="">{t("account.keys.expiry.never")}</option>
          </Select>
        )}
      </Field>
      <label className="flex items-start gap-2.5 text-md touch:min-h-11 touch:items-center">
        <input
          type="checkbox"
          className="mt-0.5 size-[18px] shrink-0 accent-accent touch:mt-0 touch:h-11"
          checked={tools}
          onChange={(event) => setTools(event.target.checked)}
        />
        <span>
          {t("account.keys.tools")}
          <span className="block text-sm text-ink-2">{t("account.keys.tools.hint")}</span>
        </span>
      </label>
      <SubmitButton className="justify-self-start" busy={make.isPending}>
        {t("account.keys.make")}
      </SubmitButton>
    </Form>
  );
}

function Secret({ secret, onDone }: { secret: string; onDone: () => void }) {
  const done = useRef<HTMLButtonElement>(null);
  useEffect(() => done.current?.focus(), []);
  return (
    <div className="grid gap-3">
      <p role="status" className="text-md">
        {t("account.keys.once")}
      </p>
      <div className="flex items-center gap-2 rounded-md border border-line bg-sunken py-1.5 pr-1.5 pl-3">
        <code className="min-w-0 flex-1 font-mono text-sm break-all">{secret}</code>
        <CopyButton text={secret} label={t("account.keys.copy")} />
      </div>
      <Button ref={done} className="justify-self-start" onClick={onDone}>
        {t("account.keys.done")}
      </Button>
    </div>
  );
}
