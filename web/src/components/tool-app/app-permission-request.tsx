import { ExternalLink } from "lucide-react";
import { type ReactNode, useId } from "react";
import { formatList } from "@/lib/intl";
import { DefinitionChanges } from "@/components/approval/definition-changes";
import { claimsOf } from "@/components/approval/definition";
import { t } from "@/lib/later-texts";
import { stringifyJson } from "@/lib/json";
import { showInvisible } from "@/lib/show-invisible";
import { TextBlock } from "@/components/tool-result/text-block";
import { Button, buttonClass } from "@/ui/button";
import { useFocusHandover } from "@/ui/focus";
import type { AppConsent } from "./app-calls";
import type { AppPermissionRequest } from "./app-requests";

/** Request of an app to the user, also for browser features before it starts. */
type PermissionRequest =
  | AppPermissionRequest
  | { readonly kind: "features"; readonly names: readonly string[] };

interface PermissionRequestPanelProps {
  request: PermissionRequest;
  serverName: string;
  tool: string;
  onDecide: (decision: AppConsent["decision"]) => void;
}

/** Request of an app with the buttons to answer, below the app. It takes no focus, and no key press answers it. */
export function PermissionRequestPanel({ request, serverName, tool, onDecide }: PermissionRequestPanelProps) {
  const panel = useFocusHandover<HTMLElement>(buttonOfAppBar);
  const titleId = useId();
  const { title, about, body, actions } = partsOf(request, serverName, onDecide);
  return (
    <section
      ref={panel}
      aria-labelledby={titleId}
      className="sticky bottom-7 grid max-h-[max(12rem,min(70dvh,calc(100dvh-22rem)))] animate-enter grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)_auto] gap-3 border-y border-line bg-warn-soft px-3.5 pt-3 pb-3.5"
    >
      <div role="status">
        <h4 id={titleId} className="text-md font-medium wrap-anywhere">
          {title}
        </h4>
        <p className="mt-0.5 text-sm text-ink-2 wrap-anywhere">
          {about ?? t("apps.wants", { tool, server: serverName })}
        </p>
      </div>
      <div
        tabIndex={0}
        className="grid min-h-0 grid-cols-[minmax(0,1fr)] content-start gap-3 overflow-y-auto"
      >
        {body}
      </div>
      <div className="flex flex-wrap gap-2">{actions}</div>
    </section>
  );
}

function buttonOfAppBar(panel: HTMLElement): HTMLElement | null | undefined {
  return panel.parentElement?.querySelector<HTMLElement>("[data-app-bar] button");
}

interface PanelParts {
  title: string;
  about?: string;
  body: ReactNode;
  actions: ReactNode;
}

function partsOf(
  request: PermissionRequest,
  server: string,
  onDecide: PermissionRequestPanelProps["onDecide"],
): PanelParts {
  const deny = (words: string) => (
    <Button size="sm" variant="danger" onClick={() => onDecide("deny")}>
      {words}
    </Button>
  );
  switch (request.kind) {
    case "tool": {
      const { name, ask, input } = request;
      const { description } = ask.definition;
      const claims = claimsOf(ask.definition).map((claim) => t(claim));
      return {
        title: t("approval.title", { tool: name, server }),
        body: (
          <>
            {(ask.before ?? ask.instructions) !== undefined && <DefinitionChanges approval={ask} />}
            {typeof description === "string" && description !== "" && (
              <p className="text-sm whitespace-pre-line text-ink-2 wrap-anywhere">
                {showInvisible(description)}
              </p>
            )}
            {claims.length > 0 && (
              <p className="text-sm text-ink-2">
                {t("approval.claims", { server, claims: formatList(claims) })}
              </p>
            )}
            <div>
              <p className="mb-1 text-xs text-ink-2">{t("approval.arguments")}</p>
              <TextBlock text={stringifyJson(input, 2)} />
            </div>
          </>
        ),
        actions: (
          <>
            <Button size="sm" onClick={() => onDecide("once")}>
              {t("approval.once")}
            </Button>
            <Button size="sm" onClick={() => onDecide("always")}>
              {t("approval.always")}
            </Button>
            {deny(t("approval.deny"))}
          </>
        ),
      };
    }
    case "link": {
      const { url } = request;
      const [before, after] = splitAtHost(url);
      return {
        title: t("apps.link"),
        body: (
          <p className="rounded-[8px] bg-sunken px-3 py-[9px] font-mono text-sm wrap-anywhere">
            {before}
            <strong>{url.host}</strong>
            {after}
          </p>
        ),
        actions: (
          <>
            <a
              href={url.href}
              target="_blank"
              rel="noopener noreferrer"
              onClick={() => onDecide("once")}
              className={buttonClass({ size: "sm" })}
            >
              <ExternalLink aria-hidden="true" />
              {t("apps.link.open")}
            </a>
            {deny(t("apps.link.deny"))}
          </>
        ),
      };
    }
    case "message":
      return {
        title: t("apps.message"),
        body: <TextBlock text={request.text} />,
        actions: (
          <>
            <Button size="sm" onClick={() => onDecide("once")}>
              {t("apps.message.send")}
            </Button>
            {deny(t("apps.message.deny"))}
          </>
        ),
      };
    case "features":
      return {
        title: t("apps.features", { names: formatList(request.names) }),
        about: t("apps.features.about", { server }),
        body: null,
        actions: (
          <>
            <Button size="sm" onClick={() => onDecide("once")}>
              {t("apps.features.allow")}
            </Button>
            {deny(t("apps.features.deny"))}
          </>
        ),
      };
    default:
      return request satisfies never;
  }
}

/** Returns the parts of a URL before and after its host. */
function splitAtHost(url: URL): [string, string] {
  const at = url.href.indexOf(url.host, url.protocol.length);
  return [url.href.slice(0, at), url.href.slice(at + url.host.length)];
}
