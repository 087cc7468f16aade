import type { PasskeyListItem } from "@supabase/auth-js";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Pencil, Trash2 } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { withProof } from "@/components/account/step-up";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { boot } from "@/lib/boot";
import { offersPasskeys, supportsPasskeys } from "@/lib/passkey-support";
import { createPasskey } from "@/lib/passkeys";
import { auth, type SignedInUser } from "@/lib/session";
import { IconButton } from "@/ui/button";
import { ConfirmButton } from "@/ui/confirm-button";
import { TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { toast, toastError } from "@/ui/toast";
import { ActionRow } from "./action-row";
import { describeDevice } from "./device-name";
import { dayOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { passkeysQuery } from "./queries";
import { focusSection, Section } from "./section";

/** Maximum length of a name, as on the server. */
const MAX_NAME_CHARS = 120;

/** The user's passkeys, with a button to create one in this browser. */
export function PasskeysSection({ user }: { user: SignedInUser }) {
  const { queryKey } = passkeysQuery(user.id);
  const { data: passkeys, error } = useQuery(passkeysQuery(user.id));
  return (
    <Section id="passkeys" title={t("account.passkeys")} about={t("account.passkeys.about")}>
      {passkeys === undefined && (error ? <FailedRow queryKey={queryKey} /> : <LoadingRow />)}
      {passkeys !== undefined && passkeys.length > 0 && (
        <ul className="divide-y divide-line">
          {passkeys.map((passkey) => (
            <PasskeyRow key={passkey.id} user={user} passkey={passkey} />
          ))}
        </ul>
      )}
      {passkeys !== undefined && <NewPasskeyRow user={user} />}
    </Section>
  );
}

function NewPasskeyRow({ user }: { user: SignedInUser }) {
  const client = useQueryClient();
  const create = useMutation({
    mutationFn: async () => {
      const { browser, system } = describeDevice(navigator.userAgent);
      const name = [browser, system].filter((part) => part !== undefined).join(", ");
      const { error, isDone } = await withProof(() => createPasskey(name || t("account.passkeys.unnamed")));
      if (error?.code === "too_many_passkeys")
        throw new Error(t("account.passkeys.tooMany"), { cause: error });
      if (error !== null) throw new Error(authErrorMessage(error), { cause: error });
      return isDone;
    },
    onSuccess: async (isDone) => {
      if (!isDone) return;
      await client.invalidateQueries({ queryKey: passkeysQuery(user.id).queryKey });
      toast({ title: t("account.passkeys.created"), tone: "ok" });
    },
    onError: (error) => {
      const isKnown = error instanceof DOMException && error.name === "InvalidStateError";
      toastError(isKnown ? new Error(t("account.passkeys.exists")) : error);
    },
  });
  return (
    <ActionRow
      text={whereToCreate()}
      action={offersPasskeys ? t("account.passkeys.create") : undefined}
      busy={create.isPending}
      onAction={() => create.mutate()}
    />
  );
}

function whereToCreate(): string {
  if (offersPasskeys) return t("account.passkeys.here");
  return supportsPasskeys
    ? t("account.passkeys.elsewhere", { host: boot.passkeys ?? "" })
    : t("account.passkeys.unsupported");
}

interface PasskeyRowProps {
  user: SignedInUser;
  passkey: PasskeyListItem;
}

function PasskeyRow({ user, passkey }: PasskeyRowProps) {
  const client = useQueryClient();
  const [isRenaming, setRenaming] = useState(false);
  const name = passkey.friendly_name ?? t("account.passkeys.unnamed");
  const { queryKey } = passkeysQuery(user.id);
  const remove = useMutation({
    mutationFn: async () => {
      const { error } = await withProof(() => auth.passkey.delete({ passkeyId: passkey.id }));
      if (error !== null) throw new Error(authErrorMessage(error), { cause: error });
    },
    onSuccess: async () => {
      focusSection("passkeys");
      await client.invalidateQueries({ queryKey });
      toast({ title: t("account.passkeys.removed"), description: name, tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <li className="py-2.5 pr-2 pl-4">
      <div className="flex items-center gap-3">
        <KeyRound aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
        <div className="min-w-0 flex-1 text-md">
          <p className="wrap-anywhere">{name}</p>
          <p className="text-sm text-ink-2 tabular-nums">{datesOf(passkey)}</p>
        </div>
        <IconButton
          size="sm"
          label={t("account.passkeys.rename", { name })}
          icon={<Pencil />}
          aria-expanded={isRenaming}
          onClick={() => setRenaming(!isRenaming)}
        />
        <ConfirmButton
          trigger={<Trash2 aria-hidden="true" />}
          label={t("account.totp.remove", { name })}
          question={t("account.passkeys.remove.question", { name })}
          confirm={t("account.totp.remove.confirm")}
          onConfirm={() => remove.mutate()}
        />
      </div>
      {isRenaming && <RenameForm user={user} id={passkey.id} name={name} onDone={() => setRenaming(false)} />}
    </li>
  );
}

interface RenameFormProps {
  user: SignedInUser;
  id: string;
  name: string;
  onDone: () => void;
}

function RenameForm({ user, id, name: previous, onDone }: RenameFormProps) {
  const client = useQueryClient();
  const [name, setName] = useState(previous);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const rename = useMutation({
    mutationFn: async () => (await auth.passkey.update({ passkeyId: id, friendlyName: name.trim() })).error,
    onSuccess: async (error) => {
      if (error !== null) return;
      await client.invalidateQueries({ queryKey: passkeysQuery(user.id).queryKey });
      focusSection("passkeys");
      onDone();
    },
  });
  return (
    <Form
      className="grid animate-enter gap-3 pt-3 pr-2 pb-2"
      busy={rename.isPending || name.trim() === ""}
      onSend={() => rename.mutate()}
    >
      <TextField
        label={t("account.passkeys.name")}
        error={rename.data ? authErrorMessage(rename.data) : undefined}
        name="passkey-name"
        autoComplete="off"
        maxLength={MAX_NAME_CHARS}
        ref={field}
        value={name}
        onChange={setName}
      />
      <SubmitButton className="justify-self-start" busy={rename.isPending} disabled={name.trim() === ""}>
        {t("account.save")}
      </SubmitButton>
    </Form>
  );
}

function datesOf({ created_at, last_used_at }: PasskeyListItem): string {
  const added = t("account.totp.added", { day: dayOf(created_at) });
  return last_used_at === undefined
    ? added
    : `${added} · ${t("account.passkeys.used", { day: dayOf(last_used_at) })}`;
}
