import { useMutation } from "@tanstack/react-query";
import type { AuthError } from "@supabase/auth-js";
import { t } from "@/lib/later-texts";
import { authErrorMessage } from "@/lib/auth-error-message";
import { retryAfterSeconds } from "@/lib/session";
import { useCountdown } from "./use-countdown";
import { Button } from "@/ui/button";
import { toast } from "@/ui/toast";

/** Minimum time between two emails of a kind, enforced by the server. */
const RESEND_COOLDOWN_SECONDS = 60;

interface ResendButtonProps {
  send: () => Promise<{ error: AuthError | null }>;
  /** True if an email was just sent, so that the next one has to wait. */
  mailed: boolean;
  size?: "md" | "sm";
  className?: string;
}

/** Button that requests the same email again, as often as the server allows. */
export function ResendButton({ send, mailed, size = "md", className = "" }: ResendButtonProps) {
  const [left, wait] = useCountdown(mailed ? RESEND_COOLDOWN_SECONDS : 0);
  const resend = useMutation({
    mutationFn: async () => (await send()).error,
    onSuccess: (error) => {
      if (error === null) {
        wait(RESEND_COOLDOWN_SECONDS);
        toast({ title: t("account.mail.again"), tone: "ok" });
        return;
      }
      if (error.status === 429) wait(retryAfterSeconds);
      toast({ title: t("error.title"), description: authErrorMessage(error), tone: "err" });
    },
  });
  const rests = left > 0 || resend.isPending;
  return (
    <Button
      // The button keeps the focus during the cooldown.
      aria-disabled={rests || undefined}
      busy={resend.isPending}
      size={size}
      className={className}
      onClick={() => {
        if (!rests) resend.mutate();
      }}
    >
      <span className="tabular-nums">
        {left > 0 ? t("account.mail.wait", { n: left }) : t("account.mail.resend")}
      </span>
    </Button>
  );
}
