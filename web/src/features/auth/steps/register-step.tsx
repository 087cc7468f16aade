import type { AuthError } from "@supabase/auth-js";
import { useState } from "react";
import { authErrorMessage } from "@/lib/auth-error-message";
import { boot } from "@/lib/boot";
import { t } from "@/lib/later-texts";
import { registrationRefusal } from "@/lib/registration-refusal";
import { Button } from "@/ui/button";
import type { StepProps } from "../auth-step";
import { signUp } from "../credentials";
import { CredentialsForm } from "../credentials-form";
import { ProviderButton } from "../provider-button";
import { StepHead } from "./step-head";

/** Field with the token, in the fragment of the URL and in what is sent. */
const registrationField = "registration_token";

interface RegisterStepProps extends StepProps {
  /** Returns the URL at which the new session starts. */
  startUrl: () => string;
}

/** Step for a user whom an operator's link permits to sign up, at the identity provider or with a password. */
export function RegisterStep({ email, onEmail, onStep, startUrl }: RegisterStepProps) {
  const [password, setPassword] = useState("");
  const registration = { [registrationField]: registrationToken() };
  return (
    <>
      <StepHead title={t("auth.welcome")} focus>
        {t("account.register.text")}
      </StepHead>
      {boot.provider && <ProviderButton startUrl={startUrl} queryParams={registration} />}
      {!boot.provider?.only && (
        <div className={boot.provider ? "mt-5" : ""}>
          <CredentialsForm
            email={email}
            onEmail={onEmail}
            password={password}
            onPassword={setPassword}
            onStep={onStep}
            submit={(credentials) => signUp(credentials, registration, refusalOf)}
            submitLabel={t("auth.signUp")}
            passwordAutoComplete="new-password"
            passwordPlaceholder={t("auth.newPasswordPlaceholder")}
            passwordMinLength={6}
          />
        </div>
      )}
      <Button variant="quiet" className="mt-2 -mb-2 w-full" onClick={() => onStep({ kind: "welcome" })}>
        {t("account.register.signIn")}
      </Button>
    </>
  );
}

function registrationToken(): string {
  return new URLSearchParams(location.hash.slice(1)).get(registrationField) ?? "";
}

function refusalOf(error: AuthError): string {
  return registrationRefusal(error.code) ?? authErrorMessage(error);
}
