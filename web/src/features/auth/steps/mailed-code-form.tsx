import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { CodeField } from "@/components/account/code-field";
import { t } from "@/lib/later-texts";
import { authErrorMessage } from "@/lib/auth-error-message";
import { auth } from "@/lib/session";
import { Form, SubmitButton } from "@/ui/form";
import { toast } from "@/ui/toast";

interface MailedCodeFormProps {
  email: string;
  /** Purpose of the emailed code. */
  type: "signup" | "recovery";
}

/**
 * Form for the six-digit code of an email, as an alternative to its link, which may be on another device. The page
 * continues when the auth client reports the session.
 */
export function MailedCodeForm({ email, type }: MailedCodeFormProps) {
  const [code, setCode] = useState("");
  const form = useRef<HTMLFormElement>(null);
  const verify = useMutation({
    mutationFn: async () => (await auth.verifyOtp({ email, token: code, type })).error,
    onSuccess: (error) => {
      if (error !== null) {
        setCode("");
        form.current?.querySelector("input")?.focus();
      } else if (type === "signup") {
        toast({ title: t("account.confirmed"), description: t("auth.created.signedIn"), tone: "ok" });
      }
    },
  });
  return (
    <Form ref={form} className="grid gap-4" busy={verify.isPending} onSend={() => verify.mutate()}>
      <CodeField
        label={t("account.mail.code")}
        hint={t("account.mail.codeHint")}
        value={code}
        onChange={setCode}
        error={verify.data ? codeWords(verify.data) : undefined}
      />
      <SubmitButton busy={verify.isPending}>{t("account.mail.confirm")}</SubmitButton>
    </Form>
  );
}

function codeWords(error: Parameters<typeof authErrorMessage>[0]): string {
  return error.code === "otp_expired" ? t("account.mail.codeWrong") : authErrorMessage(error);
}
