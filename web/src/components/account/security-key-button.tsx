import { useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { supportsPasskeys } from "@/lib/passkey-support";
import { answerWithAnySecurityKey } from "@/lib/security-keys";
import type { CeremonyResult } from "@/lib/webauthn";
import { Button } from "@/ui/button";
import { focusNow } from "@/ui/focus";

interface SecurityKeyButtonProps {
  /** Called when the session has the second factor. */
  onDone?: () => void;
}

/** Button that has a security key of the user answer, with what went wrong below it. */
export function SecurityKeyButton({ onDone }: SecurityKeyButtonProps) {
  const use = useMutation({
    mutationFn: answerWithAnySecurityKey,
    onSuccess: ({ isDone }) => {
      if (isDone) onDone?.();
    },
  });
  if (!supportsPasskeys) return <p className="text-sm text-ink-2">{t("account.securityKey.unsupported")}</p>;
  const words = use.error?.message ?? (use.data && wordsOf(use.data));
  return (
    <div className="grid gap-2">
      <Button
        ref={focusNow}
        variant="primary"
        busy={use.isPending}
        disabled={use.isPending}
        onClick={() => use.mutate()}
      >
        <KeyRound aria-hidden="true" />
        {t("account.securityKey.use")}
      </Button>
      {words !== undefined && !use.isPending && (
        <p role="alert" className="text-sm text-err">
          {words}
        </p>
      )}
    </div>
  );
}

function wordsOf({ error, isDone }: CeremonyResult): string | undefined {
  if (isDone) return undefined;
  if (error === null) return t("account.securityKey.unanswered");
  return error.code === "mfa_verification_failed" ? t("account.securityKey.wrong") : authErrorMessage(error);
}
