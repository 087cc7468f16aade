import { BadgeCheck, ExternalLink, KeyRound, TriangleAlert } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { formatList } from "@/lib/intl";
import { t } from "@/lib/later-texts";
import { webAddress } from "@/lib/safe-url";
import { showInvisible } from "@/lib/show-invisible";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { type ConnectDraft, emptyDraft } from "../connect-draft";
import type { RegistryServer } from "./queries";
import { RemoteForm } from "./remote-form";
import {
  headersOf,
  type InputValues,
  matchesUrl,
  neededInputs,
  type RemoteInput,
  urlOf,
  type UsableRemote,
  usableRemotes,
} from "./remote-inputs";
import { shorten } from "./shorten";

/** Number of inputs that are named before the server is added. */
const MAX_NAMED_INPUTS = 3;
/** Limit of the database, in characters. */
const MAX_NAME_CHARS = 200;

interface RegistryRowProps {
  server: RegistryServer;
  /** URLs of the user's connections. */
  connectedUrls: readonly URL[];
  /** True while the row shows its form. */
  isOpen: boolean;
  busy: boolean;
  onOpen: () => void;
  onCancel: () => void;
  onAdd: (draft: ConnectDraft) => void;
}

/** A server of the registry: who publishes it, what it needs, and the way to add it. */
export function RegistryRow({
  server,
  connectedUrls,
  isOpen,
  busy,
  onOpen,
  onCancel,
  onAdd,
}: RegistryRowProps) {
  const title = shorten(server.title ?? server.name, 120);
  const remotes = usableRemotes(server);
  const [remote] = remotes;
  const isConnected = remotes.some((one) => matchesUrl(one, connectedUrls));
  const button = useRef<HTMLButtonElement>(null);
  const wasOpen = useRef(false);
  useEffect(() => {
    // The form has taken the place of the button, and gives it back.
    if (wasOpen.current && !isOpen) button.current?.focus();
    wasOpen.current = isOpen;
  }, [isOpen]);

  function connect(chosen: UsableRemote, values: InputValues): void {
    const headers = headersOf(chosen, values).map((header, id) => ({ ...header, id }));
    onAdd({ ...emptyDraft, name: connectionName(server), url: urlOf(chosen, values), headers });
  }

  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-1.5 px-5 py-4">
      <div className="flex items-start gap-3">
        <div className="min-w-0 flex-1">
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <h3 dir="auto" className="min-w-0 text-base leading-6 font-medium wrap-anywhere">
              {title}
            </h3>
            {isConnected && <Badge tone="ok">{t("servers.browse.connected")}</Badge>}
            {server.isDeprecated && <Badge tone="warn">{t("servers.browse.deprecated")}</Badge>}
          </div>
          <Publisher server={server} />
        </div>
        {remote && !isOpen && (!isConnected || hasSeveralUrls(remotes)) && (
          <Button
            ref={button}
            size="sm"
            aria-label={t("servers.browse.addNamed", { name: title })}
            aria-disabled={busy || undefined}
            busy={busy}
            onClick={() => {
              if (busy) return;
              if (needsForm(remotes)) onOpen();
              else connect(remote, new Map());
            }}
          >
            {t("servers.browse.add")}
          </Button>
        )}
      </div>
      {server.description !== "" && (
        <p dir="auto" className="line-clamp-3 text-md wrap-anywhere">
          {shorten(server.description, 400)}
        </p>
      )}
      {remote ? (
        <RemoteFacts server={server} remote={remote} />
      ) : (
        <Note icon={<TriangleAlert />}>{t("servers.browse.unusable")}</Note>
      )}
      <Links server={server} title={title} />
      {isOpen && <RemoteForm remotes={remotes} busy={busy} onCancel={onCancel} onConnect={connect} />}
    </li>
  );
}

/** Name in the registry, and who owns its namespace. */
function Publisher({ server: { name, title, publisher } }: { server: RegistryServer }) {
  return (
    <>
      {title !== undefined && (
        <p className="font-mono text-xs wrap-anywhere text-ink-2">{shorten(name, 200)}</p>
      )}
      <p className="flex gap-1.5 text-sm text-ink-2">
        {publisher && <BadgeCheck aria-hidden="true" className="mt-0.5 size-4 shrink-0 text-ok" />}
        <span className="min-w-0 wrap-anywhere">
          {publisher
            ? t(`servers.browse.publisher.${publisher.verifiedBy}`, { name: shorten(publisher.name, 100) })
            : t("servers.browse.publisher.none")}
        </span>
      </p>
    </>
  );
}

/** Host and transport of a server, and the values that it asks for. */
function RemoteFacts({ server, remote }: { server: RegistryServer; remote: UsableRemote }) {
  const host = shorten(remote.host, 100);
  const needed = neededInputs(remote);
  return (
    <>
      <p className="text-sm wrap-anywhere text-ink-2">
        <span className="font-mono">{host}</span> · {t(`servers.browse.transport.${remote.transport}`)}
      </p>
      {needed.length > 0 && (
        <Note icon={<KeyRound />}>{t("servers.browse.asks", { list: namesOf(needed) })}</Note>
      )}
      {remote.isPublisherDomain === false && (
        <Note icon={<TriangleAlert />} isWarning>
          {t("servers.browse.otherDomain", { host, publisher: shorten(server.publisher?.name ?? "", 100) })}
        </Note>
      )}
    </>
  );
}

interface NoteProps {
  icon: ReactNode;
  isWarning?: boolean;
  children: ReactNode;
}

function Note({ icon, isWarning = false, children }: NoteProps) {
  return (
    <p
      className={`flex gap-1.5 text-sm [&_svg]:mt-0.5 [&_svg]:size-4 [&_svg]:shrink-0 ${isWarning ? "text-warn" : "text-ink-2"}`}
    >
      {icon}
      <span className="min-w-0 wrap-anywhere">{children}</span>
    </p>
  );
}

function Links({
  server: { websiteUrl = "", repositoryUrl = "" },
  title,
}: {
  server: RegistryServer;
  title: string;
}) {
  const links = [
    { label: t("servers.browse.website"), url: webAddress(websiteUrl) },
    { label: t("servers.browse.repository"), url: webAddress(repositoryUrl) },
  ];
  if (links.every(({ url }) => url === undefined)) return null;
  return (
    <p className="-ml-1.5 flex flex-wrap gap-x-2 text-sm">
      {links.map(
        ({ label, url }) =>
          url && (
            <a
              key={label}
              href={url.href}
              target="_blank"
              rel="noopener noreferrer"
              title={shorten(url.href, 200)}
              aria-label={t("servers.browse.linkOf", { link: label, name: title })}
              className="inline-flex min-h-[30px] items-center gap-1 rounded-sm px-1.5 text-ink-2 underline decoration-line-strong underline-offset-3 hover:text-ink touch:min-h-11"
            >
              {label}
              <ExternalLink aria-hidden="true" className="size-3.5" />
            </a>
          ),
      )}
    </p>
  );
}

/** Returns true if the user has something to choose or to enter. */
function needsForm(remotes: readonly UsableRemote[]): boolean {
  return remotes.length > 1 || remotes.some((remote) => neededInputs(remote).length > 0);
}

/** Returns true if further connections can have other URLs, such as one for each workspace. */
function hasSeveralUrls(remotes: readonly UsableRemote[]): boolean {
  return remotes.some(({ inputs }) => inputs.some(({ headerName }) => headerName === undefined));
}

function namesOf(inputs: readonly RemoteInput[]): string {
  const names = inputs.slice(0, MAX_NAMED_INPUTS).map(({ name, headerName, isSecret }) => {
    const shown = shorten(headerName ?? name, 60);
    if (!isSecret) return shown;
    return headerName === undefined
      ? t("servers.browse.asks.secret", { name: shown })
      : t("servers.browse.asks.key", { name: shown });
  });
  const rest = inputs.length - names.length;
  return formatList(rest > 0 ? [...names, t("servers.browse.asks.more", { n: rest })] : names);
}

/** Returns the name for the connection: the title or the name without its namespace, without invisible characters. */
function connectionName({ title, name }: RegistryServer): string {
  const readable = [title ?? "", name.split("/").at(-1) ?? "", name]
    .map((text) =>
      showInvisible(text)
        .replaceAll(/⟨U\+[0-9A-F]+⟩/gu, " ")
        .replaceAll(/\s+/gu, " ")
        .trim(),
    )
    .find((text) => text !== "");
  return [...(readable ?? "server")].slice(0, MAX_NAME_CHARS - 10).join("");
}
