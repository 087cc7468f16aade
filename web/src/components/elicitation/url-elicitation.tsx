import { ExternalLink, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Button, buttonClass } from "@/ui/button";
import type { Respond } from "./elicitation";
import { t } from "@/lib/later-texts";
import type { UrlRequest } from "./request";

interface UrlElicitationProps {
  request: UrlRequest;
  busy: boolean;
  respond: Respond;
}

/** Page that a server asks the user to open: its URL is shown in full, and opened only by a click. */
export function UrlElicitation({ request, busy, respond }: UrlElicitationProps) {
  const [opened, setOpened] = useState(false);
  const { url, punycode, retriesCall } = request;

  function open(): void {
    setOpened(true);
    // If the server waits by itself, agreeing is the whole response.
    if (!retriesCall) respond("accept");
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
      {opened && retriesCall && (
        <p role="status" className="text-sm text-ink-2">
          {t("elicitation.url.opened")}
        </p>
      )}
      <div className="flex flex-wrap gap-2">
        {opened && retriesCall && (
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

/** URL with its host emphasized, so that a path cannot pass for it. */
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
