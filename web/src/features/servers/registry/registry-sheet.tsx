import { useInfiniteQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { ApiError } from "@/lib/api-error";
import { t } from "@/lib/later-texts";
import { parseUrl } from "@/lib/safe-url";
import { showInvisible } from "@/lib/show-invisible";
import { useDebounced } from "@/lib/use-debounced";
import { Button } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import { Input } from "@/ui/field";
import { Sheet } from "@/ui/sheet";
import { useConnect } from "../connect";
import type { ConnectDraft } from "../connect-draft";
import type { ServerConnection } from "../server-connection";
import { type RegistryServer, registryServers } from "./queries";
import { RegistryRow } from "./registry-row";

/** Time without typing before the registry is searched. */
const SEARCH_DEBOUNCE_MS = 300;

interface RegistrySheetProps {
  userId: string;
  connections: readonly ServerConnection[];
  /** Called after a server was added and the sheet has closed. */
  onConnected: (needsSignIn: boolean) => void;
  onClose: () => void;
}

/** Searchable list of the servers in the MCP registry, each of which can be added. */
export function RegistrySheet({ userId, connections, onConnected, onClose }: RegistrySheetProps) {
  const [typed, setTyped] = useState("");
  const search = useDebounced(typed.trim(), SEARCH_DEBOUNCE_MS);
  const field = useRef<HTMLInputElement>(null);
  const connect = useConnect(userId, ({ needsSignIn = false }) => {
    const dialog = field.current?.closest("dialog");
    // Whoever has closed it in the meantime is elsewhere.
    if (!dialog) return;
    // It returns the focus first, so that the caller can move it.
    dialog.close();
    onConnected(needsSignIn);
  });
  const [adding, setAdding] = useState<string>();

  function add(key: string, draft: ConnectDraft): void {
    if (connect.isPending) return;
    setAdding(key);
    connect.mutate({ ...draft, name: freeName(draft.name, connections) });
  }

  return (
    <Sheet title={t("servers.browse")} subtitle={t("servers.browse.trust")} onClose={onClose}>
      <div className="sticky -top-5 z-1 -mx-5 -mt-5 bg-surface px-5 pt-5 pb-2">
        <Input
          ref={field}
          // Escape would first empty a field of the type "search" instead of closing the sheet.
          type="text"
          role="searchbox"
          inputMode="search"
          enterKeyHint="search"
          aria-label={t("servers.browse.search")}
          placeholder={t("servers.browse.search")}
          autoComplete="off"
          spellCheck={false}
          maxLength={100}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      </div>
      <SearchResult
        search={search}
        connections={connections}
        adding={connect.isPending ? adding : undefined}
        onAdd={add}
        onCancel={connect.reset}
      />
    </Sheet>
  );
}

interface SearchResultProps {
  search: string;
  connections: readonly ServerConnection[];
  /** Key of the row that is being added. */
  adding: string | undefined;
  onAdd: (key: string, draft: ConnectDraft) => void;
  onCancel: () => void;
}

function SearchResult({ search, connections, adding, onAdd, onCancel }: SearchResultProps) {
  const query = useInfiniteQuery(registryServers(search));
  const [openKey, setOpenKey] = useState<string>();
  const list = useRef<HTMLUListElement>(null);
  const { data, error, isFetchingNextPage } = query;

  if (!data) {
    if (error === null) return <SkeletonRows />;
    return <LoadFailure error={error} busy={query.isFetching} onRetry={() => void query.refetch()} />;
  }
  const servers = data.pages.flatMap((page) => page.servers);
  const registry = showInvisible(data.pages[0]?.registry ?? "");
  const isSearching = query.isPlaceholderData;
  const connectedUrls = connections.flatMap(({ url }) => parseUrl(url) ?? []);

  async function loadMore(): Promise<void> {
    const { hasNextPage } = await query.fetchNextPage();
    // The button disappears after the last page; keyboard users continue from the list.
    if (!hasNextPage) list.current?.focus();
  }

  return (
    <div className="-mt-3 grid grid-cols-[minmax(0,1fr)]">
      <p role="status" className={servers.length === 0 ? "py-3 text-ink-2" : "pb-1 text-sm text-ink-2"}>
        {isSearching
          ? t("servers.browse.searching")
          : servers.length === 0
            ? emptyText(search, query.hasNextPage)
            : t(query.hasNextPage ? "servers.browse.first" : "servers.browse.count", {
                n: servers.length,
                registry,
              })}
      </p>
      <ul
        ref={list}
        tabIndex={-1}
        aria-label={t("servers.browse.list")}
        aria-busy={isSearching || undefined}
        // What gets the focus stays clear of the search field above.
        className="-mx-5 divide-y divide-line outline-none [&_:is(a,button,form,input,select)]:scroll-mt-20"
      >
        {withKeys(servers).map(({ key, server }) => (
          <RegistryRow
            key={key}
            server={server}
            connectedUrls={connectedUrls}
            isOpen={openKey === key}
            busy={adding === key}
            onOpen={() => setOpenKey(key)}
            onCancel={() => {
              setOpenKey(undefined);
              onCancel();
            }}
            onAdd={(draft) => onAdd(key, draft)}
          />
        ))}
      </ul>
      {query.isFetchNextPageError && <ErrorMessage error={error} className="pt-3" />}
      {query.hasNextPage && !isSearching && (
        <p className="pt-4 text-center">
          <Button
            busy={isFetchingNextPage}
            aria-disabled={isFetchingNextPage || undefined}
            onClick={() => {
              if (!isFetchingNextPage) void loadMore();
            }}
          >
            {t("servers.browse.more")}
          </Button>
        </p>
      )}
    </div>
  );
}

/**
 * Returns the servers with keys that do not depend on their place, so that an open form outlives a search. A registry may
 * list the same name on two pages.
 */
function withKeys(servers: readonly RegistryServer[]): { key: string; server: RegistryServer }[] {
  const counts = new Map<string, number>();
  return servers.map((server) => {
    const count = counts.get(server.name) ?? 0;
    counts.set(server.name, count + 1);
    return { key: `${server.name} ${count}`, server };
  });
}

/** Returns what to say without servers. A part of the list can be empty, because most servers run only locally. */
function emptyText(search: string, hasMore: boolean): string {
  if (hasMore) return t("servers.browse.noneYet");
  return search === "" ? t("servers.browse.none") : t("servers.browse.noMatch", { query: search });
}

interface LoadFailureProps {
  error: Error;
  busy: boolean;
  onRetry: () => void;
}

function LoadFailure({ error, busy, onRetry }: LoadFailureProps) {
  // Switched off since the page was loaded.
  if (error instanceof ApiError && error.status === 404) return <p role="alert">{t("servers.browse.off")}</p>;
  const isUnavailable = error instanceof ApiError && error.code === "registry_unavailable";
  return (
    <div className="grid justify-items-start gap-3">
      <div>
        <p className="font-medium">
          {t(isUnavailable ? "servers.browse.unavailable" : "servers.browse.failed")}
        </p>
        <ErrorMessage error={error} />
      </div>
      <Button busy={busy} disabled={busy} onClick={onRetry}>
        {t("servers.browse.retry")}
      </Button>
    </div>
  );
}

/** Placeholders of the first rows, shown only after a delay. */
function SkeletonRows() {
  return (
    <div role="status" aria-label={t("app.loading")} className="appear-late -mx-5 divide-y divide-line">
      {[0, 1, 2, 3].map((row) => (
        <div key={row} className="grid gap-2 px-5 py-4">
          <span className="block h-4 w-2/5 rounded-sm bg-sunken" />
          <span className="block h-3 w-4/5 rounded-sm bg-sunken" />
          <span className="block h-3 w-3/5 rounded-sm bg-sunken" />
        </div>
      ))}
    </div>
  );
}

/** Returns the name, with a number behind it if a connection has that name already. */
function freeName(name: string, connections: readonly ServerConnection[]): string {
  const taken = new Set(connections.map((connection) => connection.name));
  let free = name;
  for (let number = 2; taken.has(free); number += 1) free = `${name} ${number}`;
  return free;
}
