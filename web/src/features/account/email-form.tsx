import { type FormEvent, useState } from "react";
import { t } from "@/lib/account-text";
import { authErrorWords } from "@/lib/auth-error-words";
import { boot } from "@/lib/boot";
import { useMutation } from "@/lib/query/use-mutation";
import { useQueryClient } from "@/lib/query/use-query";
import { auth, type SignedInUser } from "@/lib/session";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { toast } from "@/ui/toast";
import { accountQuery } from "./account-query";

interface EmailFormProps {
  user: SignedInUser;
  onDone: () => void;
}

/** Changes the address: at once, or when both addresses have confirmed it. */
export function EmailForm({ user, onDone }: EmailFormProps) {
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const change = useMutation({
    mutationFn: () => auth.updateUser({ email }, { emailRedirectTo: location.origin }),
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

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!change.isPending) change.mutate();
  }

  return (
    <form className="grid gap-3" onSubmit={submit}>
      <Field
        label={t("account.email.field")}
        hint={t(boot.mail ? "account.email.both" : "account.email.atOnce")}
        error={change.data?.error ? authErrorWords(change.data.error) : undefined}
      >
        {(ids) => (
          <Input
            {...ids}
            name="email"
            type="email"
            autoComplete="email"
            required
            value={email}
            onChange={(event) => setEmail(event.target.value)}
          />
        )}
      </Field>
      <Button
        variant="primary"
        type="submit"
        className="justify-self-start"
        disabled={change.isPending}
        busy={change.isPending}
      >
        {t("account.email.change")}
      </Button>
    </form>
  );
}
