import { ExternalLink, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Button, buttonClass } from "@/ui/button";
import type { Respond } from "./elicitation";
import { t } from "./elicitation-text";
import type { UrlRequest } from "./request";

interface UrlElicitationProps {
  request: UrlRequest;
  busy: boolean;
  respond: Respond;
}

/** A page that a server wants to be visited: shown whole, and opened only when the person says so. */
export function UrlElicitation({ request, busy, respond }: UrlElicitationProps) {
  const [opened, setOpened] = useState(false);
  const { url, punycode, makesCallAgain } = request;

  function open(): void {
    setOpened(true);
    // Where the server waits by itself, agreeing is all that it wants to know.
    if (!makesCallAgain) respond("accept");
  }

  return (
    <>
      <Address url={url} />
      {punycode && (
        <p className="flex items-start gap-2 rounded-md bg-warn-soft px-3 py-2.5 text-sm wrap-anywhere">
          <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-warn" />
          {t("elicitation.url.punycode", { host: url.hostname })}
        </p>
      )}
      {opened && makesCallAgain && (
        <p role="status" className="text-sm text-ink-2">
          {t("elicitation.url.opened")}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {opened && makesCallAgain && (
          <Button size="sm" aria-disabled={busy} onClick={() => respond("accept")}>
            {t("elicitation.url.retry")}
          </Button>
        )}
        <a
          href={url.href}
          target="_blank"
          rel="noopener noreferrer"
          className={buttonClass({ size: "sm", ...(opened && { variant: "quiet" }) })}
          onClick={open}
        >
          <ExternalLink aria-hidden="true" />
          {t(opened ? "elicitation.url.again" : "elicitation.url.open")}
        </a>
        {!opened && (
          <Button size="sm" variant="danger" aria-disabled={busy} onClick={() => respond("decline")}>
            {t("elicitation.decline")}
          </Button>
        )}
        <Button size="sm" variant="quiet" aria-disabled={busy} onClick={() => respond("cancel")}>
          {t("elicitation.cancel")}
        </Button>
      </div>
    </>
  );
}

/** An address with its host set off, so that nobody takes a path for it. */
function Address({ url }: { url: URL }) {
  const [before = "", ...rest] = url.href.split(url.host);
  return (
    <p
      className="max-h-40 overflow-y-auto rounded-md bg-sunken px-3 py-2 font-mono text-sm wrap-anywhere"
      tabIndex={0}
    >
      {before}
      <strong className="font-semibold text-ink">{url.host}</strong>
      {rest.join(url.host)}
    </p>
  );
}
