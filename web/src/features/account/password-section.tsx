import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { PasswordForm } from "./password-form";
import { Section } from "./section";
import { SettingRow } from "./setting-row";

/** Password of the user. */
export function PasswordSection({ user }: { user: SignedInUser }) {
  return (
    <Section>
      <SettingRow
        part="password"
        label={t("auth.password")}
        value={<span aria-hidden="true">••••••••</span>}
        action={t("account.change")}
      >
        {(close) => <PasswordForm user={user} onDone={close} />}
      </SettingRow>
    </Section>
  );
}
