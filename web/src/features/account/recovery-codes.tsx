import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { recoveryCodesQuery } from "@/components/account/queries";
import { withProof } from "@/components/account/step-up";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { saveFile } from "@/lib/save-file";
import { auth, type SignedInUser } from "@/lib/session";
import { CopyButton } from "@/markdown/copy-button";
import { Button } from "@/ui/button";
import { focusNow } from "@/ui/focus";
import { Form, SubmitButton } from "@/ui/form";
import { inGroups } from "./enrolment";
import { FailedRow, LoadingRow } from "./load-state";
import { SettingRow } from "./setting-row";

/** Creates the first recovery codes of the user, or replaces the present ones. */
async function issueRecoveryCodes(hasCodes: boolean): Promise<readonly string[]> {
  const { recoveryCodes } = auth.mfa;
  const { data, error } = await withProof(() =>
    hasCodes ? recoveryCodes.regenerate() : recoveryCodes.generate(),
  );
  if (error !== null) throw new Error(authErrorMessage(error), { cause: error });
  return data.codes;
}

/** Creates the first recovery codes of the user; undefined if it fails, because an authenticator works without them. */
export async function issueFirstRecoveryCodes(): Promise<readonly string[] | undefined> {
  try {
    return await issueRecoveryCodes(false);
  } catch {
    return undefined;
  }
}

/** Row that says how many recovery codes are left, with a button to create new ones. */
export function RecoveryCodesRow({ user }: { user: SignedInUser }) {
  const { data: left, error } = useQuery(recoveryCodesQuery(user.id));
  if (left === undefined)
    return error ? <FailedRow queryKey={recoveryCodesQuery(user.id).queryKey} /> : <LoadingRow />;
  const hasCodes = left !== null;
  return (
    <SettingRow
      part="recovery-codes"
      label={t("account.recoveryCodes")}
      value={hasCodes ? t("account.recoveryCodes.left", { n: left }) : t("account.recoveryCodes.none")}
      action={t(hasCodes ? "account.recoveryCodes.renew" : "account.recoveryCodes.create")}
    >
      {(close) => <IssueForm user={user} hasCodes={hasCodes} onDone={close} />}
    </SettingRow>
  );
}

interface IssueFormProps {
  user: SignedInUser;
  hasCodes: boolean;
  onDone: () => void;
}

function IssueForm({ user, hasCodes, onDone }: IssueFormProps) {
  const client = useQueryClient();
  // The row changes as soon as there are codes.
  const [isRenewal] = useState(hasCodes);
  const issue = useMutation({
    mutationFn: () => issueRecoveryCodes(isRenewal),
    onSuccess: () => client.invalidateQueries({ queryKey: recoveryCodesQuery(user.id).queryKey }),
  });
  if (issue.data !== undefined) return <IssuedCodes user={user} codes={issue.data} onDone={onDone} />;
  return (
    <Form className="grid gap-3" busy={issue.isPending} onSend={() => issue.mutate()}>
      <p className="text-sm text-ink-2">
        {t(isRenewal ? "account.recoveryCodes.renew.text" : "account.recoveryCodes.about")}
      </p>
      {issue.error !== null && (
        <p role="alert" className="text-sm text-err">
          {issue.error.message}
        </p>
      )}
      <SubmitButton className="justify-self-start" busy={issue.isPending}>
        {t("account.recoveryCodes.submit")}
      </SubmitButton>
    </Form>
  );
}

interface IssuedCodesProps {
  user: SignedInUser;
  codes: readonly string[];
  onDone: () => void;
}

/** New recovery codes, which are shown once, with buttons to copy and to save them. */
export function IssuedCodes({ user, codes, onDone }: IssuedCodesProps) {
  const lines = codes.map((code) => inGroups(code).replaceAll(" ", "-"));
  function save(): void {
    const head = t("account.recoveryCodes.file", { site: location.host, email: user.email });
    const content = new Blob([[head, "", ...lines, ""].join("\n")], { type: "text/plain" });
    saveFile({ name: `recovery-codes-${location.hostname}.txt`, content });
  }
  return (
    <div className="grid gap-3">
      <p ref={focusNow} tabIndex={-1} className="rounded-sm text-sm text-ink-2 outline-none">
        {t("account.recoveryCodes.keep")}
      </p>
      <ul
        aria-label={t("account.recoveryCodes")}
        className="grid grid-cols-[repeat(auto-fill,minmax(11.5rem,1fr))] gap-x-4 gap-y-1 rounded-[8px] bg-sunken px-3 py-2 font-mono text-sm"
      >
        {lines.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <div className="flex flex-wrap items-center gap-2">
        <Button size="sm" variant="primary" onClick={onDone}>
          {t("account.recoveryCodes.saved")}
        </Button>
        <Button size="sm" onClick={save}>
          <Download aria-hidden="true" />
          {t("account.recoveryCodes.download")}
        </Button>
        <CopyButton text={lines.join("\n")} label={t("account.recoveryCodes.copy")} />
      </div>
    </div>
  );
}
