import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { t } from "@/lib/later-texts";
import { authErrorMessage } from "@/lib/auth-error-message";
import { auth, type SignedInUser } from "@/lib/session";
import { TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { toast } from "@/ui/toast";

/** Maximum length of a name. */
const MAX_NAME_CHARS = 60;

interface NameFormProps {
  user: SignedInUser;
  onDone: () => void;
}

/** Form for the user's display name. */
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

  return (
    <Form className="grid gap-3" busy={save.isPending} onSend={() => save.mutate()}>
      <TextField
        label={t("account.name.field")}
        hint={t("account.name.hint")}
        error={save.data ? authErrorMessage(save.data) : undefined}
        name="name"
        autoComplete="nickname"
        maxLength={MAX_NAME_CHARS}
        value={name}
        onChange={setName}
      />
      <SubmitButton className="justify-self-start" busy={save.isPending}>
        {t("account.save")}
      </SubmitButton>
    </Form>
  );
}
