import { Suspense, useState } from "react";
import { readEmailLinkResult, setEmailLinkResult } from "@/lib/email-link";
import { lazyPart } from "@/lib/lazy-part";
import type { SessionState } from "@/lib/session";
import { Card } from "@/ui/card";
import { Logo } from "@/ui/logo";
import { Spinner } from "@/ui/spinner";
import type { AuthStep } from "./auth-step";
import { Welcome } from "./welcome";

/** The steps before and after the two forms are loaded on demand. */
const Step = lazyPart(async () => (await import("./steps/step")).Step);

interface AuthPageProps {
  session: SessionState;
  /** Returns the URL at which the new session starts. */
  startUrl: () => string;
  /** Called when the user begins to fill in a form, as the time to preload what follows. */
  onEngaged: () => void;
}

/** Card of the sign-in screen: the two forms, or the step that is due instead. */
export function AuthPage({ session, startUrl, onEngaged }: AuthPageProps) {
  const [chosen, choose] = useState<AuthStep>(firstStep);
  const [email, setEmail] = useState("");
  function go(next: AuthStep): void {
    // The result has been shown; the next sign-in starts with the forms again.
    setEmailLinkResult(undefined);
    choose(next);
  }
  const step: AuthStep =
    session.status === "needs-code" || session.status === "needs-password"
      ? { kind: session.status, user: session.user }
      : chosen;
  const shared = { email, onEmail: setEmail, onStep: go, startUrl };
  return (
    <main onFocus={onEngaged} className="grid min-h-full place-items-center px-5 py-6">
      <Card className="w-[min(400px,100%)] p-7">
        <Logo className="mb-4 size-11 rounded-[13px]" />
        <Suspense fallback={<Spinner />}>
          {step.kind === "welcome" ? (
            <Welcome {...shared} />
          ) : (
            <Step key={step.kind} step={step} {...shared} />
          )}
        </Suspense>
      </Card>
    </main>
  );
}

function firstStep(): AuthStep {
  return { kind: readEmailLinkResult() ?? "welcome" };
}
