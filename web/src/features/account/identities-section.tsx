import type { Provider, UserIdentity } from "@supabase/auth-js";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Building2, Unlink } from "lucide-react";
import { withProof } from "@/components/account/step-up";
import { authErrorMessage } from "@/lib/auth-error-message";
import { boot } from "@/lib/boot";
import { identityLinkTarget } from "@/lib/identity-link";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser } from "@/lib/session";
import { ConfirmButton } from "@/ui/confirm-button";
import { toast, toastError } from "@/ui/toast";
import { ActionRow } from "./action-row";
import { dayOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { accountQuery } from "./queries";
import { focusSection, Section } from "./section";

/** Name of the identity provider in the server's API; the client's types list only providers of Supabase. */
const providerName: string = "oidc";

interface IdentitiesSectionProps {
  user: SignedInUser;
  /** Name of the identity provider. */
  provider: string;
}

/** The user's accounts at the identity provider, with a button to link one. */
export function IdentitiesSection({ user, provider }: IdentitiesSectionProps) {
  const { queryKey } = accountQuery(user.id);
  const { data: account, error } = useQuery(accountQuery(user.id));
  const identities = account?.identities?.filter((identity) => identity.provider === providerName) ?? [];
  return (
    <Section id="identities" title={t("account.sso")} about={t("account.sso.about", { name: provider })}>
      {account === undefined && (error ? <FailedRow queryKey={queryKey} /> : <LoadingRow />)}
      {identities.length > 0 && (
        <ul className="divide-y divide-line">
          {identities.map((identity) => (
            <IdentityRow key={identity.identity_id} user={user} provider={provider} identity={identity} />
          ))}
        </ul>
      )}
      {account !== undefined && <LinkRow provider={provider} />}
    </Section>
  );
}

function LinkRow({ provider }: { provider: string }) {
  const link = useMutation({
    mutationFn: async () => {
      const options = { redirectTo: identityLinkTarget(location.origin) };
      // On success the browser leaves the page.
      const { error } = await withProof(() =>
        auth.linkIdentity({ provider: providerName as Provider, options }),
      );
      if (error !== null) throw new Error(authErrorMessage(error), { cause: error });
    },
    onError: toastError,
  });
  return (
    <ActionRow
      text={t("account.sso.here", { name: provider })}
      action={t("account.sso.link")}
      busy={link.isPending}
      onAction={() => link.mutate()}
    />
  );
}

interface IdentityRowProps extends IdentitiesSectionProps {
  identity: UserIdentity;
}

function IdentityRow({ user, provider, identity }: IdentityRowProps) {
  const client = useQueryClient();
  const email: unknown = identity.identity_data?.["email"];
  const name = typeof email === "string" ? email : provider;
  const unlink = useMutation({
    mutationFn: async () => {
      const { error } = await withProof(() => auth.unlinkIdentity(identity));
      if (error?.code === "single_identity_not_deletable")
        throw new Error(lastWayText(provider), { cause: error });
      if (error !== null) throw new Error(authErrorMessage(error), { cause: error });
    },
    onSuccess: async () => {
      focusSection("identities");
      await client.invalidateQueries({ queryKey: accountQuery(user.id).queryKey });
      toast({ title: t("account.sso.unlinked"), description: name, tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <li className="flex items-center gap-3 py-2.5 pr-2 pl-4">
      <Building2 aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
      <div className="min-w-0 flex-1 text-md">
        <p className="wrap-anywhere">{name}</p>
        {identity.created_at !== undefined && (
          <p className="text-sm text-ink-2 tabular-nums">
            {t("account.totp.added", { day: dayOf(identity.created_at) })}
          </p>
        )}
      </div>
      <ConfirmButton
        trigger={<Unlink aria-hidden="true" />}
        label={t("account.sso.unlink", { name })}
        question={t("account.sso.unlink.question", { name })}
        confirm={t("account.sso.unlink.confirm")}
        onConfirm={() => unlink.mutate()}
      />
    </li>
  );
}

/** Returns why the last identity cannot be unlinked. */
function lastWayText(provider: string): string {
  if (boot.provider?.only === true) return t("account.sso.last.only", { name: provider });
  return t(boot.passkeys ? "account.sso.last" : "account.sso.last.password");
}
