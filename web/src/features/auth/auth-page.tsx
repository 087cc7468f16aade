import { useState } from "react";
import { t } from "@/lib/t";
import { Card } from "@/ui/card";
import { Mark } from "@/ui/mark";
import { panelProps, TabList } from "@/ui/tabs";
import { type Credentials, signIn, signUp } from "./credentials";
import { CredentialsForm } from "./credentials-form";

type Mode = "sign-in" | "sign-up";

const tabsId = "auth";

interface AuthPageProps {
  /** Called when the visitor begins to fill in a form: the time to load what comes after it. */
  onEngaged: () => void;
}

export function AuthPage({ onEngaged }: AuthPageProps) {
  const [mode, setMode] = useState<Mode>("sign-in");
  const [credentials, setCredentials] = useState<Credentials>({ email: "", password: "" });
  const tabs = [
    { value: "sign-in", label: t("auth.signIn") },
    { value: "sign-up", label: t("auth.signUp") },
  ] as const;
  const shared = { credentials, onChange: setCredentials };
  return (
    <main onFocus={onEngaged} className="grid min-h-full place-items-center px-5 py-6">
      <Card className="w-[min(400px,100%)] p-7">
        <Mark className="mb-4 size-11 rounded-[13px]" />
        <h1 className="text-xl">{t("auth.welcome")}</h1>
        <p className="text-ink-2">{t("app.tagline")}</p>
        <TabList
          id={tabsId}
          label={t("auth.welcome")}
          items={tabs}
          selected={mode}
          onSelect={setMode}
          fill
          className="my-5"
        />
        <div {...panelProps(tabsId, mode)}>
          {mode === "sign-in" ? (
            <CredentialsForm
              key="sign-in"
              {...shared}
              submit={signIn}
              submitLabel={t("auth.signIn")}
              passwordAutoComplete="current-password"
            />
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
      </Card>
    </main>
  );
}
