import { useMutation } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { CodeField } from "@/components/account/code-field";
import { codeErrorWords } from "@/components/account/queries";
import { withProof } from "@/components/account/step-up";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser } from "@/lib/session";
import { CopyButton } from "@/markdown/copy-button";
import { TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { useAddedFactor } from "./added-factor";
import { beginEnrolment, type Enrolment, inGroups } from "./enrolment";
import { IssuedCodes } from "./recovery-codes";

interface EnrolFormProps {
  user: SignedInUser;
  onDone: () => void;
}

/** Form that sets up an authenticator: a name, the QR code, and a first code as proof. */
export function EnrolForm({ user, onDone }: EnrolFormProps) {
  const [name, setName] = useState("");
  const [codes, setCodes] = useState<readonly string[]>();
  const begin = useMutation({ mutationFn: () => beginEnrolment(name.trim()) });
  if (codes !== undefined) return <IssuedCodes user={user} codes={codes} onDone={onDone} />;
  if (begin.data?.data)
    return <ProofForm user={user} enrolment={begin.data.data} onDone={onDone} onCodes={setCodes} />;

  return (
    <Form className="grid gap-3" busy={begin.isPending} onSend={() => begin.mutate()}>
      <p className="text-sm text-ink-2">{t("account.totp.app")}</p>
      <TextField
        label={t("account.totp.name")}
        hint={t("account.totp.name.hint")}
        error={begin.data?.error ? authErrorMessage(begin.data.error) : undefined}
        name="authenticator"
        autoComplete="off"
        maxLength={60}
        required
        placeholder={t("account.totp.name.example")}
        value={name}
        onChange={setName}
      />
      <SubmitButton className="justify-self-start" busy={begin.isPending}>
        {t("account.continue")}
      </SubmitButton>
    </Form>
  );
}

interface ProofFormProps extends EnrolFormProps {
  enrolment: Enrolment;
  /** Called with new recovery codes instead of `onDone`. */
  onCodes: (codes: readonly string[]) => void;
}

function ProofForm({ user, enrolment, onDone, onCodes }: ProofFormProps) {
  const finish = useAddedFactor(user, {
    first: t("account.twoStep.on.text"),
    another: t("account.totp.another"),
  });
  const [code, setCode] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const verify = useMutation({
    mutationFn: async () =>
      (await withProof(() => auth.mfa.challengeAndVerify({ factorId: enrolment.id, code }))).error,
    onSuccess: async (error) => {
      if (error !== null) {
        setCode("");
        field.current?.focus();
        return;
      }
      const codes = await finish();
      if (codes === undefined) onDone();
      else onCodes(codes);
    },
  });

  return (
    <Form className="grid gap-3.5" busy={verify.isPending} onSend={() => verify.mutate()}>
      <p ref={bringUp} tabIndex={-1} className="scroll-mt-5 rounded-sm text-sm text-ink-2 outline-none">
        {t("account.totp.scan")}
      </p>
      {/* Cameras want a light ground, whatever the theme. */}
      <img
        src={enrolment.picture}
        alt={t("account.totp.picture")}
        width={200}
        height={200}
        className="size-[200px] justify-self-center rounded-md border border-line bg-[#fff] p-2.5"
      />
      <div className="grid gap-1">
        <p className="text-sm text-ink-2">{t("account.totp.secret")}</p>
        <div className="flex items-center gap-1 rounded-[8px] bg-sunken py-1 pr-1 pl-3">
          <code className="min-w-0 flex-1 font-mono text-sm wrap-anywhere">{inGroups(enrolment.secret)}</code>
          <CopyButton text={enrolment.secret} label={t("account.totp.copy")} />
        </div>
        <p className="text-sm text-ink-2">{t("account.totp.keep")}</p>
      </div>
      <CodeField
        ref={field}
        label={t("account.totp.code")}
        value={code}
        onChange={setCode}
        error={verify.data ? codeErrorWords(verify.data) : undefined}
      />
      <SubmitButton className="justify-self-start" busy={verify.isPending}>
        {t("account.code.verify")}
      </SubmitButton>
    </Form>
  );
}

/** Focuses and scrolls to an element, so that the QR code is completely visible. */
function bringUp(element: HTMLElement | null): void {
  element?.focus();
  element?.scrollIntoView({ block: "start" });
}
