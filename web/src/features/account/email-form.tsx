import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { withProof } from "@/components/account/step-up";
import { authErrorMessage } from "@/lib/auth-error-message";
import { boot } from "@/lib/boot";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser } from "@/lib/session";
import { EmailField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { toast } from "@/ui/toast";
import { accountQuery } from "./queries";

interface EmailFormProps {
  user: SignedInUser;
  onDone: () => void;
}

/** Form that changes the email address: at once, or after both addresses have confirmed. */
export function EmailForm({ user, onDone }: EmailFormProps) {
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const change = useMutation({
    mutationFn: () => withProof(() => auth.updateUser({ email }, { emailRedirectTo: location.origin })),
    onSuccess: async ({ data, error }) => {
      if (error !== null) return;
      await client.invalidateQueries({ queryKey: accountQuery(user.id).queryKey });
      const waits = data.user.new_email !== undefined && data.user.new_email !== "";
      toast(
        waits
          ? { title: t("account.mail.check"), description: t("account.email.mailed"), tone: "ok" }
          : {
              title: t("account.email.changed"),
              description: t("account.email.changedTo", { email }),
              tone: "ok",
            },
      );
      onDone();
    },
  });

  return (
    <Form className="grid gap-3" busy={change.isPending} onSend={() => change.mutate()}>
      <EmailField
        label={t("account.email.field")}
        hint={t(boot.mail ? "account.email.both" : "account.email.atOnce")}
        value={email}
        onChange={setEmail}
        error={change.data?.error ? authErrorMessage(change.data.error) : undefined}
      />
      <SubmitButton className="justify-self-start" busy={change.isPending}>
        {t("account.email.change")}
      </SubmitButton>
    </Form>
  );
}
