import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { CodeField } from "@/components/account/code-field";
import {
  codeErrorWords,
  factorName,
  factorsQuery,
  isSecurityKey,
  recoveryCodeErrorWords,
} from "@/components/account/queries";
import { RecoveryCodeField } from "@/components/account/recovery-code-field";
import { SecurityKeyButton } from "@/components/account/security-key-button";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser, signOut } from "@/lib/session";
import { Button } from "@/ui/button";
import { Field, Select } from "@/ui/field";
import { focusNow } from "@/ui/focus";
import { Form, SubmitButton } from "@/ui/form";
import { Spinner } from "@/ui/spinner";
import { StepHead } from "./step-head";

/** Ways to pass the step. */
type Method = "code" | "key" | "recovery";

/** Step that asks for the second factor. The page continues when the auth client reports the new level. */
export function CodeStep({ user }: { user: SignedInUser }) {
  const factors = useQuery(factorsQuery(user.id));
  const [chosen, setChosen] = useState<Method>();
  useEffect(() => {
    // The last factor was removed elsewhere; a refreshed session knows that the password is enough.
    if (factors.data?.length === 0) void auth.refreshSession();
  }, [factors.data]);
  if (factors.isPending) {
    return (
      <StepHead title={t("account.code.title")} focus>
        <Spinner />
      </StepHead>
    );
  }
  const hasKey = factors.data?.some(isSecurityKey) ?? false;
  const hasApp = factors.data?.some((factor) => !isSecurityKey(factor)) ?? false;
  const method = chosen ?? (hasKey && !hasApp ? "key" : "code");
  const others = {
    code: (hasApp || !hasKey) && method !== "code",
    key: hasKey && method !== "key",
    recovery: method !== "recovery",
  };
  const ways = (
    <div className="-mb-2 grid">
      {others.key && (
        <Button variant="quiet" onClick={() => setChosen("key")}>
          {t("account.securityKey.use")}
        </Button>
      )}
      {others.code && (
        <Button variant="quiet" onClick={() => setChosen("code")}>
          {t("account.proof.use.totp")}
        </Button>
      )}
      {others.recovery && (
        <Button variant="quiet" onClick={() => setChosen("recovery")}>
          {t("account.recoveryCode.use")}
        </Button>
      )}
      <Button variant="quiet" onClick={() => void signOut()}>
        {t("account.otherAccount")}
      </Button>
    </div>
  );
  switch (method) {
    case "code":
      return <AppCodeForm user={user}>{ways}</AppCodeForm>;
    case "key":
      return (
        <>
          <StepHead title={t("account.code.title")}>
            {t("account.securityKey.text", { email: user.email })}
          </StepHead>
          <div className="grid gap-4">
            <SecurityKeyButton />
            {ways}
          </div>
        </>
      );
    case "recovery":
      return <RecoveryCodeForm user={user}>{ways}</RecoveryCodeForm>;
  }
}

interface CodeFormProps {
  user: SignedInUser;
  /** Other ways to pass the step. */
  children: ReactNode;
}

/** Asks for the code of an authenticator app. */
function AppCodeForm({ user, children }: CodeFormProps) {
  const client = useQueryClient();
  const factors = useQuery(factorsQuery(user.id));
  const apps = factors.data?.filter((factor) => !isSecurityKey(factor)) ?? [];
  const [code, setCode] = useState("");
  const [chosen, setChosen] = useState<string>();
  const form = useRef<HTMLFormElement>(null);
  const factorId = chosen ?? apps[0]?.id;
  const verify = useMutation({
    // Every attempt has a challenge of its own, so that none expires while the user looks for their phone.
    mutationFn: async (id: string) => (await auth.mfa.challengeAndVerify({ factorId: id, code })).error,
    onSuccess: (error) => {
      if (error === null) return;
      setCode("");
      form.current?.querySelector("input")?.focus();
    },
  });
  const error = verify.data ? codeErrorWords(verify.data) : undefined;

  function send(): void {
    if (factorId === undefined) void client.invalidateQueries({ queryKey: factorsQuery(user.id).queryKey });
    else verify.mutate(factorId);
  }

  return (
    <>
      <StepHead title={t("account.code.title")}>{t("account.code.text", { email: user.email })}</StepHead>
      <Form ref={form} className="grid gap-4" busy={verify.isPending} onSend={send}>
        {apps.length > 1 && (
          <Field label={t("account.code.which")}>
            {(ids) => (
              <Select {...ids} value={factorId} onChange={(event) => setChosen(event.target.value)}>
                {apps.map((factor) => (
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
        {children}
      </Form>
    </>
  );
}

/** Asks for a recovery code instead. */
function RecoveryCodeForm({ user, children }: CodeFormProps) {
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
        {children}
      </Form>
    </>
  );
}
