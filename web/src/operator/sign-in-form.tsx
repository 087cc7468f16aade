import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { Card } from "@/ui/card";
import { ErrorMessage } from "@/ui/error-message";
import { TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { Logo } from "@/ui/logo";
import { UserQueries } from "@/lib/user-queries";
import { checkToken } from "./api";
import { t } from "./t";
import { setToken, tokenWasRefused } from "./token";

/** Form for the operator's token. */
export function SignInForm() {
  useEffect(() => {
    document.title = t("operator.page", { section: t("operator.title") });
  }, []);
  return (
    <main className="grid min-h-full place-items-center px-5 py-6">
      <Card className="w-[min(400px,100%)] p-7">
        <Logo className="mb-4 size-11! rounded-[13px]!" />
        <h1 className="text-lg">{t("operator.signIn.title")}</h1>
        <p className="mt-1 mb-5 text-md text-ink-2">{t("operator.signIn.about")}</p>
        <UserQueries>
          <TokenForm />
        </UserQueries>
      </Card>
    </main>
  );
}

function TokenForm() {
  const [token, setTyped] = useState("");
  const [error, setError] = useState(tokenWasRefused() ? t("operator.signIn.ended") : undefined);
  const check = useMutation({
    mutationFn: () => checkToken(token.trim()),
    onSuccess: (isAccepted) => {
      if (isAccepted) setToken(token.trim());
      else setError(t("operator.signIn.wrong"));
    },
  });
  return (
    <Form
      className="grid gap-4"
      busy={check.isPending}
      onSend={() => {
        setError(undefined);
        check.mutate();
      }}
    >
      <TextField
        label={t("operator.signIn.token")}
        name="token"
        type="password"
        autoComplete="off"
        spellCheck={false}
        required
        error={error}
        value={token}
        onChange={setTyped}
      />
      <ErrorMessage error={check.error} />
      <SubmitButton busy={check.isPending} className="w-full">
        {t("operator.signIn.submit")}
      </SubmitButton>
    </Form>
  );
}
