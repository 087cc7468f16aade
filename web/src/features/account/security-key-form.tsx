import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import type { CeremonyResult } from "@/lib/webauthn";
import { TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { useAddedFactor } from "./added-factor";
import { addSecurityKey } from "./enrolment";
import { IssuedCodes } from "./recovery-codes";

interface SecurityKeyFormProps {
  user: SignedInUser;
  onDone: () => void;
}

/** Form that adds a security key: a name, and then the browser's dialog. */
export function SecurityKeyForm({ user, onDone }: SecurityKeyFormProps) {
  const [name, setName] = useState("");
  const [codes, setCodes] = useState<readonly string[]>();
  const finish = useAddedFactor(user, {
    first: t("account.securityKey.on.text"),
    another: t("account.securityKey.another"),
  });
  const add = useMutation({
    mutationFn: () => addSecurityKey(name.trim()),
    onSuccess: async ({ isDone }) => {
      if (!isDone) return;
      const issued = await finish();
      if (issued === undefined) onDone();
      else setCodes(issued);
    },
  });
  if (codes !== undefined) return <IssuedCodes user={user} codes={codes} onDone={onDone} />;
  return (
    <Form className="grid gap-3" busy={add.isPending} onSend={() => add.mutate()}>
      <p className="text-sm text-ink-2">{t("account.securityKey.ready")}</p>
      <TextField
        label={t("account.securityKey.name")}
        hint={t("account.securityKey.name.hint")}
        error={wordsOf(add.error, add.data)}
        name="security-key"
        autoComplete="off"
        maxLength={60}
        required
        placeholder={t("account.securityKey.name.example")}
        value={name}
        onChange={setName}
      />
      <SubmitButton className="justify-self-start" busy={add.isPending}>
        {t("account.continue")}
      </SubmitButton>
    </Form>
  );
}

function wordsOf(thrown: Error | null, result: CeremonyResult | undefined): string | undefined {
  if (thrown instanceof DOMException && thrown.name === "InvalidStateError")
    return t("account.securityKey.exists");
  if (thrown !== null) return thrown.message;
  if (result === undefined || result.isDone) return undefined;
  return result.error === null ? t("account.securityKey.unanswered") : authErrorMessage(result.error);
}
