import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { CodeField } from "@/components/account/code-field";
import {
  codeErrorWords,
  factorName,
  factorsQuery,
  recoveryCodeErrorWords,
} from "@/components/account/queries";
import { RecoveryCodeField } from "@/components/account/recovery-code-field";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser, signOut } from "@/lib/session";
import { Button } from "@/ui/button";
import { Field, Select } from "@/ui/field";
import { focusNow } from "@/ui/focus";
import { Form, SubmitButton } from "@/ui/form";
import { StepHead } from "./step-head";

/** Step that asks for the code of the second factor. The page continues when the auth client reports the new level. */
export function CodeStep({ user }: { user: SignedInUser }) {
  const client = useQueryClient();
  const factors = useQuery(factorsQuery(user.id));
  const [code, setCode] = useState("");
  const [chosen, setChosen] = useState<string>();
  const form = useRef<HTMLFormElement>(null);
  const factorId = chosen ?? factors.data?.[0]?.id;
  const [isRecovery, setIsRecovery] = useState(false);
  const verify = useMutation({
    // Every attempt has a challenge of its own, so that none expires while the user looks for their phone.
    mutationFn: async (id: string) => (await auth.mfa.challengeAndVerify({ factorId: id, code })).error,
    onSuccess: (error) => {
      if (error === null) return;
      setCode("");
      form.current?.querySelector("input")?.focus();
    },
  });
  useEffect(() => {
    // The last factor was removed elsewhere; a refreshed session knows that the password is enough.
    if (factors.data?.length === 0) void auth.refreshSession();
  }, [factors.data]);
  const error = verify.data ? codeErrorWords(verify.data) : undefined;

  function send(): void {
    if (factorId === undefined) void client.invalidateQueries({ queryKey: factorsQuery(user.id).queryKey });
    else verify.mutate(factorId);
  }

  if (isRecovery) return <RecoveryCodeStep user={user} onBack={() => setIsRecovery(false)} />;
  return (
    <>
      <StepHead title={t("account.code.title")}>{t("account.code.text", { email: user.email })}</StepHead>
      <Form ref={form} className="grid gap-4" busy={verify.isPending} onSend={send}>
        {(factors.data?.length ?? 0) > 1 && (
          <Field label={t("account.code.which")}>
            {(ids) => (
              <Select {...ids} value={factorId} onChange={(event) => setChosen(event.target.value)}>
                {factors.data?.map((factor) => (
                  <option key={factor.id} value={factor.id}>
                    {factorName(factor)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
        )}
        <CodeField
          ref={focusNow}
          label={t("account.code.label")}
          value={code}
          onChange={setCode}
          error={error ?? (factors.error ? t("error.unreachable") : undefined)}
        />
        <SubmitButton busy={verify.isPending}>{t("account.code.verify")}</SubmitButton>
        <div className="-mb-2 grid">
          <Button variant="quiet" onClick={() => setIsRecovery(true)}>
            {t("account.recoveryCode.use")}
          </Button>
          <Button variant="quiet" onClick={() => void signOut()}>
            {t("account.otherAccount")}
          </Button>
        </div>
      </Form>
    </>
  );
}

interface RecoveryCodeStepProps {
  user: SignedInUser;
  onBack: () => void;
}

/** Asks for a recovery code instead. */
function RecoveryCodeStep({ user, onBack }: RecoveryCodeStepProps) {
  const [code, setCode] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const verify = useMutation({
    mutationFn: async () => (await auth.mfa.recoveryCodes.verify({ code })).error,
    onSuccess: (error) => {
      if (error !== null) form.current?.querySelector("input")?.focus();
    },
  });
  return (
    <>
      <StepHead title={t("account.code.title")}>
        {t("account.recoveryCode.text", { email: user.email })}
      </StepHead>
      <Form ref={form} className="grid gap-4" busy={verify.isPending} onSend={() => verify.mutate()}>
        <RecoveryCodeField
          ref={focusNow}
          value={code}
          onChange={setCode}
          error={verify.data ? recoveryCodeErrorWords(verify.data) : undefined}
        />
        <SubmitButton busy={verify.isPending}>{t("account.code.verify")}</SubmitButton>
        <Button variant="quiet" className="-mb-2" onClick={onBack}>
          {t("account.proof.use.totp")}
        </Button>
      </Form>
    </>
  );
}
