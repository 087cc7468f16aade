import type { AuthError } from "@supabase/auth-js";
import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { retryAfterSeconds } from "@/lib/session";
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

/** Returns the remaining seconds, counted down to 0, and a function to restart. */
function useCountdown(initialSeconds: number): [number, (seconds: number) => void] {
  const [end, setEnd] = useState(() => performance.now() + initialSeconds * 1_000);
  const [now, setNow] = useState(() => performance.now());
  const left = Math.max(0, Math.ceil((end - now) / 1_000));
  const running = left > 0;
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNow(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, [running]);
  function begin(seconds: number): void {
    const started = performance.now();
    setNow(started);
    setEnd(started + seconds * 1_000);
  }
  return [left, begin];
}
