import { useMutation } from "@tanstack/react-query";
import { Check, LogIn } from "lucide-react";
import { type FormEvent, type ReactNode, useState } from "react";
import { ApiError } from "@/lib/api-error";
import { t, tRich } from "@/lib/later-texts";
import { serverSignIn } from "@/lib/server-sign-in";
import { Button, buttonClass } from "@/ui/button";
import { TextField } from "@/ui/field";
import { focusNow } from "@/ui/focus";
import { enterServerClient, signOutOfServer } from "./queries";
import type { ServerConnection } from "./server-connection";

/** Error code for a sign-in server at which this app has to be registered manually. */
const CLIENT_NEEDED_CODE = "client_needed";

/** Sign-in and sign-out at a connection's server. */
export function ServerSignIn({ connection }: { connection: ServerConnection }) {
  const { id, name, status, signedIn } = connection;
  const [cancelled, setCancelled] = useState(false);
  const [ownClient, setOwnClient] = useState(false);
  const begin = useMutation({ mutationFn: () => serverSignIn(id) });
  const end = useMutation({ mutationFn: () => signOutOfServer(id) });
  const needed = status === "needs-sign-in";
  const asksForClient =
    ownClient || (begin.error instanceof ApiError && begin.error.code === CLIENT_NEEDED_CODE);
  function start(): void {
    setCancelled(false);
    setOwnClient(false);
    begin.mutate();
  }
  return (
    <div className="mt-1 grid justify-items-start gap-2 text-sm text-ink-2">
      {needed && <p>{t(signedIn ? "account.server.wantsMore" : "account.server.wants")}</p>}
      {needed && begin.data !== undefined && !cancelled && !asksForClient && (
        <Leave url={begin.data} onCancel={() => setCancelled(true)} onOwnClient={() => setOwnClient(true)} />
      )}
      {needed && asksForClient && (
        <ClientForm id={id} name={name} about={begin.error?.message} onEntered={start} />
      )}
      {needed && (begin.data === undefined || cancelled) && !asksForClient && (
        <Button size="sm" disabled={begin.isPending} busy={begin.isPending} onClick={start}>
          {!begin.isPending && <LogIn aria-hidden="true" />}
          {t("account.server.signIn", { name })}
        </Button>
      )}
      {needed && begin.error !== null && !asksForClient && <Wrong error={begin.error} />}
      {signedIn && (
        <p className="flex flex-wrap items-center gap-x-1.5">
          <Check aria-hidden="true" className="size-4 text-ok" />
          {t("account.server.signedIn")}
          <Button variant="quiet" size="sm" disabled={end.isPending} onClick={() => end.mutate()}>
            {t("account.server.signOut", { name })}
          </Button>
        </p>
      )}
      {end.error !== null && <Wrong error={end.error} />}
    </div>
  );
}

interface LeaveProps {
  url: URL;
  onCancel: () => void;
  onOwnClient: () => void;
}

/** Shows the target of the sign-in before the user leaves. */
function Leave({ url, onCancel, onOwnClient }: LeaveProps) {
  return (
    <div role="status" className="grid gap-2">
      <p>
        {tRich("account.server.leads", {
          host: url.host,
          strong: emphasized,
        })}
      </p>
      <p className="flex flex-wrap gap-2">
        <a
          ref={focusNow}
          href={url.href}
          rel="noreferrer"
          className={buttonClass({ variant: "primary", size: "sm" })}
        >
          {t("account.server.continue")}
        </a>
        <Button variant="quiet" size="sm" onClick={onCancel}>
          {t("account.server.cancel")}
        </Button>
        <Button variant="quiet" size="sm" onClick={onOwnClient}>
          {t("account.server.otherClient")}
        </Button>
      </p>
    </div>
  );
}

interface ClientFormProps {
  id: string;
  name: string;
  /** Instructions of the server, which contain this app's public URL. */
  about: string | undefined;
  onEntered: () => void;
}

/** Form for the client id and secret of a manual registration. */
function ClientForm({ id, name, about, onEntered }: ClientFormProps) {
  const [clientId, setClientId] = useState("");
  const [secret, setSecret] = useState("");
  const enter = useMutation({
    mutationFn: () => enterServerClient(id, clientId.trim(), secret),
    onSuccess: onEntered,
  });
  const address = `${location.origin}/api/connections/callback`;
  function submit(event: FormEvent): void {
    event.preventDefault();
    if (!enter.isPending && clientId.trim() !== "") enter.mutate();
  }
  return (
    <form className="grid w-full gap-3" onSubmit={submit}>
      <p className="wrap-anywhere">{about ?? t("account.server.client", { name, address })}</p>
      <TextField
        label={t("account.server.clientId")}
        value={clientId}
        onChange={setClientId}
        autoComplete="off"
        spellCheck={false}
        aria-required
      />
      <TextField
        label={t("account.server.clientSecret")}
        hint={t("account.server.secretHint")}
        type="password"
        autoComplete="off"
        value={secret}
        onChange={setSecret}
      />
      {enter.error !== null && <Wrong error={enter.error} />}
      <Button
        type="submit"
        size="sm"
        className="justify-self-start"
        disabled={enter.isPending || clientId.trim() === ""}
        busy={enter.isPending}
      >
        {t("account.server.save")}
      </Button>
    </form>
  );
}

function Wrong({ error }: { error: Error }) {
  return (
    <p role="alert" className="text-err wrap-anywhere">
      {error.message}
    </p>
  );
}

function emphasized(words: ReactNode): ReactNode {
  return <strong className="font-medium text-ink wrap-anywhere">{words}</strong>;
}
