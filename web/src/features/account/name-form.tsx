import { type FormEvent, useState } from "react";
import { t } from "@/lib/account-text";
import { authErrorWords } from "@/lib/auth-error-words";
import { useMutation } from "@/lib/query/use-mutation";
import { auth, type SignedInUser } from "@/lib/session";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { toast } from "@/ui/toast";

/** The longest name, in characters: more would not fit anywhere. */
const longest = 60;

interface NameFormProps {
  user: SignedInUser;
  onDone: () => void;
}

/** What the person wants to be called. */
export function NameForm({ user, onDone }: NameFormProps) {
  const [name, setName] = useState(user.name);
  const save = useMutation({
    mutationFn: async () => (await auth.updateUser({ data: { display_name: name.trim() } })).error,
    onSuccess: (error) => {
      if (error !== null) return;
      toast({ title: t("account.name.saved"), tone: "ok" });
      onDone();
    },
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!save.isPending) save.mutate();
  }

  return (
    <form className="grid gap-3" onSubmit={submit}>
      <Field
        label={t("account.name.field")}
        hint={t("account.name.hint")}
        error={save.data ? authErrorWords(save.data) : undefined}
      >
        {(ids) => (
          <Input
            {...ids}
            name="name"
            autoComplete="nickname"
            maxLength={longest}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
        )}
      </Field>
      <Button
        variant="primary"
        type="submit"
        className="justify-self-start"
        disabled={save.isPending}
        busy={save.isPending}
      >
        {t("account.save")}
      </Button>
    </form>
  );
}
