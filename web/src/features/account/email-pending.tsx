import { Mail } from "lucide-react";
import { ResendButton } from "@/components/account/resend-button";
import { t } from "@/lib/later-texts";
import { auth } from "@/lib/session";

interface EmailPendingProps {
  /** Address that is not confirmed yet. */
  newEmail: string;
  /** Current address. */
  email: string;
}

/** Notice of an unconfirmed change of the email address. */
export function EmailPending({ newEmail, email }: EmailPendingProps) {
  const send = () =>
    auth.resend({ type: "email_change", email, options: { emailRedirectTo: location.origin } });
  return (
    <div className="flex gap-3 px-4 py-3 text-sm">
      <Mail aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-warn" />
      <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-3 gap-y-2">
        <p role="status" className="min-w-0 flex-[1_1_12rem] wrap-anywhere">
          {t("account.email.waiting", { email: newEmail })}
        </p>
        <ResendButton send={send} mailed={false} size="sm" />
      </div>
    </div>
  );
}
