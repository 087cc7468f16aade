import { useQuery } from "@tanstack/react-query";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { EmailForm } from "./email-form";
import { EmailPending } from "./email-pending";
import { NameForm } from "./name-form";
import { PasswordForm } from "./password-form";
import { accountQuery } from "./queries";
import { Section } from "./section";
import { SettingRow } from "./setting-row";

/** Name, email address and password of the user. */
export function ProfileSection({ user }: { user: SignedInUser }) {
  const { data } = useQuery(accountQuery(user.id));
  const newEmail = data?.new_email ?? "";
  return (
    <Section title={t("account.profile")}>
      <SettingRow
        part="name"
        label={t("account.name")}
        value={user.name === "" ? <span className="text-ink-2">{t("account.name.none")}</span> : user.name}
        action={t("account.change")}
      >
        {(close) => <NameForm user={user} onDone={close} />}
      </SettingRow>
      <SettingRow part="email" label={t("auth.email")} value={user.email} action={t("account.change")}>
        {(close) => <EmailForm user={user} onDone={close} />}
      </SettingRow>
      {newEmail !== "" && newEmail !== user.email && <EmailPending email={user.email} newEmail={newEmail} />}
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
