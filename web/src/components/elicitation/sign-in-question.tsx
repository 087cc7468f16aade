import { useMutation } from "@tanstack/react-query";
import { LogIn } from "lucide-react";
import { useState } from "react";
import { ApiError } from "@/lib/api-error";
import { serverSignIn } from "@/lib/server-sign-in";
import { openSignIn } from "@/lib/sign-in-window";
import { Button, buttonClass } from "@/ui/button";
import type { Say } from "./elicitation";
import { t } from "./elicitation-text";

/** The code with which the server says that its sign-in server has to be told of this app by hand. */
const clientNeeded = "client_needed";

interface SignInQuestionProps {
  connectionId: string;
  server: string;
  busy: boolean;
  say: Say;
}

/** The way to a server's sign-in and past it. The call goes on by itself once the person is signed in, wherever that was. */
export function SignInQuestion({ connectionId, server, busy, say }: SignInQuestionProps) {
  const [left, setLeft] = useState(false);
  const begin = useMutation({ mutationFn: () => serverSignIn(connectionId) });
  /** Where to: a sign-in that was left may have ended with a no, and is begun anew. */
  async function placeOf(url: URL): Promise<URL> {
    return left ? serverSignIn(connectionId).catch(() => url) : url;
  }
  const needsClient = begin.error instanceof ApiError && begin.error.code === clientNeeded;
  return (
    <>
      {begin.data === undefined ? (
        <p className="text-sm text-ink-2">{t("elicitation.signIn.about")}</p>
      ) : (
        <p role="status" className="text-sm text-ink-2 wrap-anywhere">
          {t(left ? "elicitation.signIn.left" : "elicitation.signIn.leads")}{" "}
          {!left && <strong className="font-medium text-ink">{begin.data.host}</strong>}
        </p>
      )}
      {begin.error !== null && (
        <p role="alert" className="text-sm text-err wrap-anywhere">
          {begin.error.message}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {begin.data !== undefined && (
          <a
            href={begin.data.href}
            target="_blank"
            rel="noopener noreferrer"
            className={buttonClass({ size: "sm", ...(left && { variant: "quiet" }) })}
            onClick={(event) => {
              setLeft(true);
              if (openSignIn(placeOf(begin.data))) event.preventDefault();
            }}
          >
            {t(left ? "elicitation.url.again" : "elicitation.signIn.continue")}
          </a>
        )}
        {begin.data === undefined && !needsClient && (
          <Button
            size="sm"
            aria-disabled={begin.isPending}
            busy={begin.isPending}
            onClick={() => begin.mutate()}
          >
            {!begin.isPending && <LogIn aria-hidden="true" />}
            {t("elicitation.signIn.begin", { server })}
          </Button>
        )}
        {needsClient && (
          <a href="/?tab=servers" target="_blank" rel="noreferrer" className={buttonClass({ size: "sm" })}>
            {t("elicitation.signIn.servers")}
          </a>
        )}
        {left && (
          <Button size="sm" aria-disabled={busy} onClick={() => say("accept")}>
            {t("elicitation.signIn.retry")}
          </Button>
        )}
        <Button size="sm" variant="danger" aria-disabled={busy} onClick={() => say("decline")}>
          {t("elicitation.signIn.skip")}
        </Button>
      </div>
    </>
  );
}
