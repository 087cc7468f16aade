import { useState } from "react";
import { boot } from "@/lib/boot";
import { lazyFirstPart } from "@/lib/lazy-part";
import { offersPasskeys } from "@/lib/passkey-support";
import { t } from "@/lib/t";
import { Button } from "@/ui/button";
import { panelProps, TabList } from "@/ui/tabs";
import type { StepProps } from "./auth-step";
import { signIn, signUp } from "./credentials";
import { CredentialsForm } from "./credentials-form";

type Mode = "sign-in" | "sign-up";

/** Few servers have a provider, so that the first load does without the button. */
const ProviderButton = lazyFirstPart(async () => (await import("./provider-button")).ProviderButton);

/** Not part of the first load: most users sign in with a password. */
const PasskeyButton = lazyFirstPart(async () => (await import("./passkey-button")).PasskeyButton);

const tabsId = "auth";

interface WelcomeProps extends StepProps {
  /** Returns the URL at which the new session starts. */
  startUrl: () => string;
}

/**
 * The identity provider, and the two forms: sign-in, and sign-up where the server accepts new accounts. There are no
 * forms where the provider is the only way to sign in.
 */
export function Welcome({ email, onEmail, onStep, startUrl }: WelcomeProps) {
  const [mode, setMode] = useState<Mode>("sign-in");
  const [password, setPassword] = useState("");
  const tabs = [
    { value: "sign-in", label: t("auth.signIn") },
    { value: "sign-up", label: t("auth.signUp") },
  ] as const;
  const isOpen = boot.signUps === "open";
  const hasForms = !boot.provider?.only;
  const shared = { email, onEmail, password, onPassword: setPassword, onStep };
  return (
    <>
      <h1 className="text-xl">{t("auth.welcome")}</h1>
      <p className="text-ink-2">{t("app.tagline")}</p>
      {boot.provider && <ProviderButton startUrl={startUrl} />}
      {hasForms && isOpen && (
        <TabList
          id={tabsId}
          label={t("auth.welcome")}
          items={tabs}
          selected={mode}
          onSelect={setMode}
          fill
          className="mt-5"
        />
      )}
      {hasForms && (
        <div className="mt-5" {...(isOpen && panelProps(tabsId, mode))}>
          {mode === "sign-in" ? (
            <>
              <CredentialsForm
                key="sign-in"
                {...shared}
                submit={signIn}
                submitLabel={t("auth.signIn")}
                passwordAutoComplete="current-password"
              />
              {offersPasskeys && (
                // As high as the button, so that nothing moves when that is loaded.
                <div className="mt-3 h-9 touch:h-11">
                  <PasskeyButton />
                </div>
              )}
              {boot.mail && (
                <Button
                  variant="quiet"
                  className="mt-2 -mb-2 w-full"
                  onClick={() => onStep({ kind: "forgot" })}
                >
                  {t("auth.forgot")}
                </Button>
              )}
            </>
          ) : (
            <CredentialsForm
              key="sign-up"
              {...shared}
              submit={signUp}
              submitLabel={t("auth.signUp")}
              passwordAutoComplete="new-password"
              passwordPlaceholder={t("auth.newPasswordPlaceholder")}
              passwordMinLength={6}
            />
          )}
        </div>
      )}
      {!isOpen && (
        <p className="mt-5 text-center text-sm text-balance text-ink-2">
          {t(boot.signUps === "invite" ? "auth.inviteOnly" : "auth.error.signup_disabled")}
        </p>
      )}
    </>
  );
}
