import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { PasswordField } from "@/components/account/password-field";
import { ProofHost } from "@/components/account/proof-dialog";
import { useRevocation } from "@/components/account/revocation";
import { withProof } from "@/components/account/step-up";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser, signOut } from "@/lib/session";
import { Button } from "@/ui/button";
import { focusNow } from "@/ui/focus";
import { Form, SubmitButton } from "@/ui/form";
import { toast } from "@/ui/toast";
import { StepHead } from "./step-head";

/** Step that sets a new password after an email link. The page continues when the auth client reports the change. */
export function PasswordStep({ user }: { user: SignedInUser }) {
  const [password, setPassword] = useState("");
  const { choices, revoke } = useRevocation(user);
  const change = useMutation({
    mutationFn: async () => {
      const { error } = await withProof(() => auth.updateUser({ password }));
      // Revoke first: the page continues as soon as the password is changed.
      if (error === null) await revoke();
      return error;
    },
    onSuccess: (error) => {
      if (error !== null) return;
      toast({
        title: t("account.password.changed"),
        description: t("auth.created.signedIn"),
        tone: "ok",
      });
    },
  });

  return (
    <>
      <StepHead title={t("account.newPassword.title")}>
        {t("account.newPassword.text", { email: user.email })}
      </StepHead>
      <Form className="grid gap-4" busy={change.isPending} onSend={() => change.mutate()}>
        {/* Password managers look for it, to know whose password this is. */}
        <input type="hidden" name="username" autoComplete="username" value={user.email} />
        <PasswordField
          ref={focusNow}
          label={t("account.password.new")}
          kind="new"
          value={password}
          onChange={setPassword}
          error={change.data ? authErrorMessage(change.data) : undefined}
        />
        {choices}
        <SubmitButton busy={change.isPending}>{t("account.newPassword.save")}</SubmitButton>
        <Button variant="quiet" className="-mb-2" onClick={() => void signOut()}>
          {t("account.otherAccount")}
        </Button>
      </Form>
      <ProofHost user={user} />
    </>
  );
}
