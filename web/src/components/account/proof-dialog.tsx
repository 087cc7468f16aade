import { useMutation, useQuery } from "@tanstack/react-query";
import { useEffect, useId, useRef, useState } from "react";
import { ApiError } from "@/lib/api-error";
import { authErrorMessage } from "@/lib/auth-error-message";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser } from "@/lib/session";
import { Button } from "@/ui/button";
import { focusNow } from "@/ui/focus";
import { Form, SubmitButton } from "@/ui/form";
import { Spinner } from "@/ui/spinner";
import { CodeField } from "./code-field";
import { PasswordField } from "./password-field";
import {
  codeErrorWords,
  type ProofMethod,
  proofOptionsQuery,
  prove,
  recoveryCodeErrorWords,
} from "./queries";
import { RecoveryCodeField } from "./recovery-code-field";
import { ResendButton } from "./resend-button";
import { SecurityKeyButton } from "./security-key-button";
import { type ProofRequest, useProofRequest } from "./step-up";

/** Shows the identity check whenever a change needs one. */
export function ProofHost({ user }: { user: SignedInUser }) {
  const request = useProofRequest();
  return request === undefined ? null : <ProofDialog user={user} request={request} />;
}

interface ProofDialogProps {
  user: SignedInUser;
  request: ProofRequest;
}

/** Asks for the password or a code, depending on the account; the change continues afterwards. */
function ProofDialog({ user, request }: ProofDialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const isProven = useRef(false);
  const titleId = useId();
  const options = useQuery(proofOptionsQuery(user.id));
  const [chosen, setChosen] = useState<ProofMethod>();
  const methods = options.data?.methods ?? [];
  const method = chosen ?? methods[0];
  useEffect(() => {
    dialog.current?.showModal();
  }, []);
  // Every way to close uses the dialog's own close, which restores the focus before it reports.
  const close = () => dialog.current?.close();
  function finish(): void {
    isProven.current = true;
    close();
  }
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      // The sheet below handles the same event for itself.
      onClose={(event) => {
        event.stopPropagation();
        request.settle(isProven.current);
      }}
      className="m-auto w-[min(400px,calc(100vw-32px))] max-w-none rounded-lg border border-line bg-surface p-5 shadow-float animate-enter backdrop:bg-scrim"
    >
      <div className="grid grid-cols-[minmax(0,1fr)] gap-4">
        <div className="grid gap-1">
          <h2 id={titleId}>{t("account.proof.title")}</h2>
          <p className="text-sm text-ink-2">{t("account.proof.text")}</p>
        </div>
        {options.isPending && <Spinner />}
        {options.error !== null && (
          <p role="alert" className="text-sm text-err">
            {options.error.message}
          </p>
        )}
        {method === "password" && <PasswordProof user={user} onProven={finish} />}
        {(method === "totp" || method === "webauthn") && (
          <FactorProof key={method} method={method} onProven={finish} />
        )}
        {method === "email" && <MailProof user={user} onProven={finish} />}
        <div className="flex flex-wrap justify-between gap-2 border-t border-line pt-3">
          <span className="flex flex-wrap gap-1">
            {methods
              .filter((other) => other !== method)
              .map((other) => (
                <Button
                  key={other}
                  size="sm"
                  variant="quiet"
                  className="-ml-2.5"
                  onClick={() => setChosen(other)}
                >
                  {t(`account.proof.use.${other}`)}
                </Button>
              ))}
          </span>
          <Button size="sm" onClick={close}>
            {t("account.cancel")}
          </Button>
        </div>
      </div>
    </dialog>
  );
}

interface ProofFormProps {
  onProven: () => void;
}

function PasswordProof({ user, onProven }: ProofFormProps & { user: SignedInUser }) {
  const [password, setPassword] = useState("");
  const send = useMutation({ mutationFn: () => prove({ password }), onSuccess: onProven });
  return (
    <Form className="grid gap-3" busy={send.isPending} onSend={() => send.mutate()}>
      <input type="hidden" name="username" autoComplete="username" value={user.email} />
      <PasswordField
        ref={focusNow}
        label={t("account.proof.password")}
        kind="current"
        value={password}
        onChange={setPassword}
        error={wordsOf(send.error)}
      />
      <SubmitButton className="justify-self-start" busy={send.isPending}>
        {t("account.continue")}
      </SubmitButton>
    </Form>
  );
}

function FactorProof({ method, onProven }: ProofFormProps & { method: "totp" | "webauthn" }) {
  const [isRecovery, setIsRecovery] = useState(false);
  if (isRecovery) return <RecoveryCodeProof onProven={onProven} />;
  const recover = () => setIsRecovery(true);
  return method === "totp" ? (
    <AuthenticatorProof onProven={onProven} onRecovery={recover} />
  ) : (
    <div className="grid justify-items-start gap-2">
      <SecurityKeyButton onDone={onProven} />
      <Button size="sm" variant="quiet" className="-ml-2.5" onClick={recover}>
        {t("account.recoveryCode.use")}
      </Button>
    </div>
  );
}

function RecoveryCodeProof({ onProven }: ProofFormProps) {
  const [code, setCode] = useState("");
  const send = useMutation({
    mutationFn: async () => (await auth.mfa.recoveryCodes.verify({ code })).error,
    onSuccess: (error) => {
      if (error === null) onProven();
    },
  });
  return (
    <Form className="grid gap-3" busy={send.isPending} onSend={() => send.mutate()}>
      <RecoveryCodeField
        ref={focusNow}
        value={code}
        onChange={setCode}
        error={send.data ? recoveryCodeErrorWords(send.data) : undefined}
      />
      <SubmitButton className="justify-self-start" busy={send.isPending}>
        {t("account.continue")}
      </SubmitButton>
    </Form>
  );
}

function AuthenticatorProof({ onProven, onRecovery }: ProofFormProps & { onRecovery: () => void }) {
  const [code, setCode] = useState("");
  const send = useMutation({
    mutationFn: async () => {
      const { data, error } = await auth.mfa.listFactors();
      const factorId = data?.totp[0]?.id;
      if (factorId === undefined) return error;
      return (await auth.mfa.challengeAndVerify({ factorId, code })).error;
    },
    onSuccess: (error) => {
      if (error === null) onProven();
    },
  });
  return (
    <Form className="grid gap-3" busy={send.isPending} onSend={() => send.mutate()}>
      <CodeField
        ref={focusNow}
        label={t("account.proof.totp")}
        value={code}
        onChange={setCode}
        error={send.data ? codeErrorWords(send.data) : undefined}
      />
      <div className="flex flex-wrap gap-2">
        <SubmitButton busy={send.isPending}>{t("account.continue")}</SubmitButton>
        <Button variant="quiet" onClick={onRecovery}>
          {t("account.recoveryCode.use")}
        </Button>
      </div>
    </Form>
  );
}

function MailProof({ user, onProven }: ProofFormProps & { user: SignedInUser }) {
  const [code, setCode] = useState("");
  const mail = useMutation({ mutationFn: async () => (await auth.reauthenticate()).error });
  const send = useMutation({ mutationFn: () => prove({ nonce: code }), onSuccess: onProven });
  if (mail.data !== null) {
    return (
      <div className="grid gap-3">
        <p className="text-md wrap-anywhere">{t("account.proof.mail.text", { email: user.email })}</p>
        {mail.data && (
          <p role="alert" className="text-sm text-err">
            {authErrorMessage(mail.data)}
          </p>
        )}
        <Button
          ref={focusNow}
          variant="primary"
          className="justify-self-start"
          busy={mail.isPending}
          disabled={mail.isPending}
          onClick={() => mail.mutate()}
        >
          {t("account.proof.mail.send")}
        </Button>
      </div>
    );
  }
  return (
    <Form className="grid gap-3" busy={send.isPending} onSend={() => send.mutate()}>
      <CodeField
        ref={focusNow}
        label={t("account.password.code")}
        hint={t("account.proof.mail.sent", { email: user.email })}
        value={code}
        onChange={setCode}
        error={wordsOf(send.error)}
      />
      <div className="flex flex-wrap gap-2">
        <SubmitButton busy={send.isPending}>{t("account.continue")}</SubmitButton>
        <ResendButton send={() => auth.reauthenticate()} mailed />
      </div>
    </Form>
  );
}

function wordsOf(error: Error | null): string | undefined {
  if (error instanceof ApiError && error.code === "current_password_invalid")
    return t("account.password.wrong");
  if (error instanceof ApiError && error.code === "reauthentication_not_valid")
    return t("account.code.wrong");
  return error?.message;
}
