import { KeyRound } from "lucide-react";
import { useState } from "react";
import { authErrorMessage } from "@/lib/auth-error-message";
import { signInWithPasskey } from "@/lib/passkeys";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";
import { toast } from "@/ui/toast";

/** Button that signs in with a passkey, below the form for a password. */
export function PasskeyButton() {
  const [busy, setBusy] = useState(false);

  async function signIn(): Promise<void> {
    setBusy(true);
    try {
      const { error } = await signInWithPasskey();
      if (error === null) return;
      const isUnknown = error.code === "webauthn_verification_failed";
      report(isUnknown ? t("auth.error.invalid_credentials") : authErrorMessage(error));
    } catch (error) {
      report(error instanceof Error ? error.message : "");
    } finally {
      setBusy(false);
    }
  }

  function report(description: string): void {
    toast({ title: t("auth.signInFailed"), description, tone: "err" });
  }

  return (
    <Button variant="line" className="w-full" disabled={busy} busy={busy} onClick={() => void signIn()}>
      <KeyRound aria-hidden="true" />
      {t("auth.passkey")}
    </Button>
  );
}
