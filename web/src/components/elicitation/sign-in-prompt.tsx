import { useMutation } from "@tanstack/react-query";
import { LogIn } from "lucide-react";
import { type ReactNode, useState } from "react";
import { ApiError } from "@/lib/api-error";
import { t, tRich } from "@/lib/later-texts";
import { openSignIn, serverSignIn } from "@/lib/server-sign-in";
import { Button, buttonClass } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import type { Respond } from "./elicitation";

/** Error code for a sign-in server at which this app has to be registered manually. */
const CLIENT_NEEDED_CODE = "client_needed";

interface SignInPromptProps {
  connectionId: string;
  server: string;
  busy: boolean;
  respond: Respond;
}

/** Link to a server's sign-in. The call continues once the user is signed in, in any window. */
export function SignInPrompt({ connectionId, server, busy, respond }: SignInPromptProps) {
  const [isOpened, setIsOpened] = useState(false);
  const begin = useMutation({ mutationFn: () => serverSignIn(connectionId) });
  /** Returns a fresh sign-in URL if the last one was opened: that sign-in may have been denied. */
  async function currentUrl(url: URL): Promise<URL> {
    return isOpened ? serverSignIn(connectionId).catch(() => url) : url;
  }
  const needsClient = begin.error instanceof ApiError && begin.error.code === CLIENT_NEEDED_CODE;
  return (
    <>
      {begin.data === undefined ? (
        <p className="text-sm text-ink-2">{t("elicitation.signIn.about")}</p>
      ) : (
        <p role="status" className="text-sm text-ink-2 wrap-anywhere">
          {isOpened
            ? t("elicitation.signIn.left")
            : tRich("elicitation.signIn.leads", {
                host: begin.data.host,
                strong: emphasized,
              })}
        </p>
      )}
      <ErrorMessage error={begin.error} />
      <div className="flex flex-wrap gap-2">
        {begin.data !== undefined && (
          <a
            href={begin.data.href}
            target="_blank"
            rel="noopener noreferrer"
            className={buttonClass({ size: "sm", ...(isOpened && { variant: "quiet" }) })}
            onClick={(event) => {
              setIsOpened(true);
              if (openSignIn(currentUrl(begin.data))) event.preventDefault();
            }}
          >
            {t(isOpened ? "elicitation.url.again" : "elicitation.signIn.continue")}
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
        {isOpened && (
          <Button size="sm" aria-disabled={busy} onClick={() => respond("accept")}>
            {t("elicitation.signIn.retry")}
          </Button>
        )}
        <Button size="sm" variant="danger" aria-disabled={busy} onClick={() => respond("decline")}>
          {t("elicitation.signIn.skip")}
        </Button>
      </div>
    </>
  );
}

function emphasized(words: ReactNode): ReactNode {
  return <strong className="font-medium text-ink wrap-anywhere">{words}</strong>;
}
