import type { Factor } from "@supabase/auth-js";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, ShieldCheck, Trash2 } from "lucide-react";
import { factorName, factorsQuery, isSecurityKey, recoveryCodesQuery } from "@/components/account/queries";
import { withProof } from "@/components/account/step-up";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { offersPasskeys } from "@/lib/passkey-support";
import { auth, type SignedInUser } from "@/lib/session";
import { ConfirmButton } from "@/ui/confirm-button";
import { toast, toastError } from "@/ui/toast";
import { EnrolForm } from "./enrol-form";
import { dayOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { RecoveryCodesRow } from "./recovery-codes";
import { focusSection, Section } from "./section";
import { SecurityKeyForm } from "./security-key-form";
import { SettingRow } from "./setting-row";

/** The user's authenticator apps and security keys, with buttons to add them. */
export function TwoStepSection({ user }: { user: SignedInUser }) {
  const { queryKey } = factorsQuery(user.id);
  const { data: factors, error } = useQuery(factorsQuery(user.id));
  const count = factors?.length ?? 0;
  const keys = factors?.filter(isSecurityKey).length ?? 0;
  return (
    <Section
      id="two-step"
      title={t("account.twoStep")}
      about={t("account.twoStep.about")}
      foot={count === 1 && <Advice user={user} isKey={keys === 1} />}
    >
      {factors === undefined && (error ? <FailedRow queryKey={queryKey} /> : <LoadingRow />)}
      {count > 0 && (
        <ul className="divide-y divide-line">
          {factors?.map((factor) => (
            <FactorRow key={factor.id} user={user} factor={factor} last={count === 1} />
          ))}
        </ul>
      )}
      {factors !== undefined && (
        <SettingRow
          part="two-step"
          label={t(count === keys ? "account.totp.unnamed" : "account.twoStep.another")}
          {...(count === 0 && { value: <span className="text-ink-2">{t("account.twoStep.off")}</span> })}
          action={t(count === 0 ? "account.twoStep.setUp" : "account.twoStep.add")}
        >
          {(close) => <EnrolForm user={user} onDone={close} />}
        </SettingRow>
      )}
      {factors !== undefined && offersPasskeys && (
        <SettingRow
          part="security-key"
          label={t(keys === 0 ? "account.securityKey" : "account.securityKey.anotherOne")}
          action={t("account.twoStep.add")}
        >
          {(close) => <SecurityKeyForm user={user} onDone={close} />}
        </SettingRow>
      )}
      {count > 0 && <RecoveryCodesRow user={user} />}
    </Section>
  );
}

interface AdviceProps {
  user: SignedInUser;
  /** True if the factor is a security key. */
  isKey: boolean;
}

/** Warns users whose only factor has no replacement. */
function Advice({ user, isKey }: AdviceProps) {
  const { data: left } = useQuery(recoveryCodesQuery(user.id));
  if (left === undefined || (left !== null && left > 0)) return null;
  return (
    <p className="text-sm text-ink-2">{t(isKey ? "account.securityKey.advice" : "account.twoStep.advice")}</p>
  );
}

interface FactorRowProps {
  user: SignedInUser;
  factor: Factor;
  /** True if removing it disables two-step sign-in. */
  last: boolean;
}

function FactorRow({ user, factor, last }: FactorRowProps) {
  const client = useQueryClient();
  const name = factorName(factor);
  const isKey = isSecurityKey(factor);
  const Icon = isKey ? KeyRound : ShieldCheck;
  const added = t("account.totp.added", { day: dayOf(factor.created_at) });
  const remove = useMutation({
    mutationFn: async () => {
      const { error } = await withProof(() => auth.mfa.unenroll({ factorId: factor.id }));
      if (error !== null) throw new Error(authErrorMessage(error), { cause: error });
      // The session contains the factors as well.
      await auth.refreshSession();
    },
    onSuccess: async () => {
      focusSection("two-step");
      await client.invalidateQueries({ queryKey: factorsQuery(user.id).queryKey });
      // The last authenticator takes the codes with it.
      await client.invalidateQueries({ queryKey: recoveryCodesQuery(user.id).queryKey });
      toast({
        title: t(
          last ? "account.twoStep.ended" : isKey ? "account.securityKey.removed" : "account.totp.removed",
        ),
        description: name,
        tone: "ok",
      });
    },
    onError: toastError,
  });
  return (
    <li className="flex items-center gap-3 py-2.5 pr-2 pl-4">
      <Icon aria-hidden="true" className="size-4 shrink-0 text-ok" />
      <div className="min-w-0 flex-1 text-md">
        <p className="wrap-anywhere">{name}</p>
        <p className="text-sm text-ink-2 tabular-nums">
          {isKey ? `${t("account.securityKey")} · ${added}` : added}
        </p>
      </div>
      <ConfirmButton
        trigger={<Trash2 aria-hidden="true" />}
        label={t("account.totp.remove", { name })}
        question={t(
          last
            ? "account.totp.removeLast.question"
            : isKey
              ? "account.securityKey.remove.question"
              : "account.totp.remove.question",
          { name },
        )}
        confirm={t("account.totp.remove.confirm")}
        onConfirm={() => remove.mutate()}
      />
    </li>
  );
}
