import { useQuery } from "@tanstack/react-query";
import { Mail } from "lucide-react";
import { ResendButton } from "@/components/account/resend-button";
import { boot } from "@/lib/boot";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser } from "@/lib/session";
import { EmailForm } from "./email-form";
import { NameForm } from "./name-form";
import { accountQuery } from "./queries";
import { Section } from "./section";
import { SettingRow } from "./setting-row";

/** Name and email address of the user. */
export function ProfileSection({ user }: { user: SignedInUser }) {
  const { data } = useQuery(accountQuery(user.id));
  const newEmail = data?.new_email ?? "";
  return (
    <Section>
      <SettingRow
        part="name"
        label={t("account.name")}
        value={user.name === "" ? <span className="text-ink-2">{t("account.name.none")}</span> : user.name}
        action={t("account.change")}
      >
        {(close) => <NameForm user={user} onDone={close} />}
      </SettingRow>
      {boot.provider?.only !== true && (
        <SettingRow part="email" label={t("auth.email")} value={user.email} action={t("account.change")}>
          {(close) => <EmailForm user={user} onDone={close} />}
        </SettingRow>
      )}
      {newEmail !== "" && newEmail !== user.email && <EmailPending email={user.email} newEmail={newEmail} />}
    </Section>
  );
}

interface EmailPendingProps {
  /** Address that is not confirmed yet. */
  newEmail: string;
  /** Current address. */
  email: string;
}

/** Notice of an unconfirmed change of the email address. */
function EmailPending({ newEmail, email }: EmailPendingProps) {
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
