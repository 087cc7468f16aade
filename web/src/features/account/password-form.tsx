import type { AuthError } from "@supabase/auth-js";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { PasswordField } from "@/components/account/password-field";
import { proofOptionsQuery } from "@/components/account/queries";
import { useRevocation } from "@/components/account/revocation";
import { withProof } from "@/components/account/step-up";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser } from "@/lib/session";
import { Form, SubmitButton } from "@/ui/form";
import { toast } from "@/ui/toast";

interface PasswordFormProps {
  user: SignedInUser;
  onDone: () => void;
}

/** Form that changes the password, or sets the first one. */
export function PasswordForm({ user, onDone }: PasswordFormProps) {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const hasPassword = useQuery(proofOptionsQuery(user.id)).data?.hasPassword ?? true;
  const { choices, revoke } = useRevocation(user);
  const change = useMutation({
    mutationFn: async () => {
      const wanted = { password, ...(hasPassword && { current_password: current }) };
      const { error } = await withProof(() => auth.updateUser(wanted));
      if (error === null) await revoke();
      return error;
    },
    onSuccess: (error) => {
      if (error !== null) return;
      toast({ title: t("account.password.changed"), description: t("account.password.others"), tone: "ok" });
      onDone();
    },
  });
  const error = change.data;
  const isCurrent = error?.code === "current_password_invalid" || error?.code === "current_password_required";

  return (
    <Form className="grid gap-3" busy={change.isPending} onSend={() => change.mutate()}>
      {/* Password managers look for it, to know whose password this is. */}
      <input type="hidden" name="username" autoComplete="username" value={user.email} />
      {hasPassword && (
        <PasswordField
          label={t("account.password.current")}
          kind="current"
          value={current}
          onChange={setCurrent}
          error={error && isCurrent ? words(error) : undefined}
        />
      )}
      <PasswordField
        label={t("account.password.new")}
        kind="new"
        value={password}
        onChange={setPassword}
        error={error && !isCurrent ? words(error) : undefined}
      />
      {choices}
      <SubmitButton className="justify-self-start" busy={change.isPending}>
        {t("account.password.change")}
      </SubmitButton>
    </Form>
  );
}

function words(error: AuthError): string {
  return error.code === "current_password_invalid" ? t("account.password.wrong") : authErrorMessage(error);
}
