import type { AuthError } from "@supabase/auth-js";
import { useState } from "react";
import { CodeField } from "@/account-parts/code-field";
import { focusNow } from "@/account-parts/focus-now";
import { PasswordField } from "@/account-parts/password-field";
import { ResendButton } from "@/account-parts/resend-button";
import { t } from "@/lib/account-text";
import { authErrorWords } from "@/lib/auth-error-words";
import { useMutation } from "@/lib/query/use-mutation";
import { auth, type SignedInUser } from "@/lib/session";
import { Form, SubmitButton } from "@/ui/form";
import { toast } from "@/ui/toast";

interface PasswordFormProps {
  user: SignedInUser;
  onDone: () => void;
}

interface Outcome {
  error: AuthError | null;
  /** The server wants a code that it has mailed. */
  codeMailed: boolean;
}

/** Changes the password; with a code by mail when the server asks for one. */
export function PasswordForm({ user, onDone }: PasswordFormProps) {
  const [current, setCurrent] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState<string>();
  const change = useMutation({
    mutationFn: async (): Promise<Outcome> => {
      const asked = { password, current_password: current, ...(code !== undefined && { nonce: code }) };
      const { error } = await auth.updateUser(asked);
      if (error?.code !== "reauthentication_needed") return { error, codeMailed: false };
      const mailed = await auth.reauthenticate();
      return { error: mailed.error, codeMailed: mailed.error === null };
    },
    onSuccess: ({ error, codeMailed }) => {
      if (codeMailed) setCode("");
      if (codeMailed || error !== null) return;
      toast({ title: t("account.password.changed"), description: t("account.password.others"), tone: "ok" });
      onDone();
    },
  });
  const error = change.data?.error;
  const place = error ? placeOf(error) : undefined;
  const at = (here: Place) => (error && place === here ? words(error) : undefined);

  return (
    <Form className="grid gap-3" busy={change.isPending} onSend={() => change.mutate()}>
      {/* Password managers look for it, to know whose password this is. */}
      <input type="hidden" name="username" autoComplete="username" value={user.email} />
      <PasswordField
        label={t("account.password.current")}
        kind="current"
        value={current}
        onChange={setCurrent}
        error={at("current")}
      />
      <PasswordField
        label={t("account.password.new")}
        kind="new"
        value={password}
        onChange={setPassword}
        error={at("new")}
      />
      {code !== undefined && (
        <CodeField
          ref={focusNow}
          label={t("account.password.code")}
          hint={t("account.password.codeHint", { email: user.email })}
          value={code}
          onChange={setCode}
          error={at("code")}
        />
      )}
      <div className="flex flex-wrap gap-2">
        <SubmitButton busy={change.isPending}>{t("account.password.change")}</SubmitButton>
        {code !== undefined && <ResendButton send={() => auth.reauthenticate()} mailed />}
      </div>
    </Form>
  );
}

type Place = "current" | "new" | "code";

/** The field that an error belongs to. */
function placeOf({ code }: AuthError): Place {
  if (code === "current_password_invalid" || code === "current_password_required") return "current";
  return code === "reauthentication_not_valid" ? "code" : "new";
}

function words(error: AuthError): string {
  return error.code === "current_password_invalid" ? t("account.password.wrong") : authErrorWords(error);
}
