import { type QueryClient, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import type { Connection } from "@/lib/connection";
import { type PageEvent, subscribeEvents } from "@/lib/events";
import { toastError } from "@/ui/toast";
import {
  changeConnection,
  type ConnectionChange,
  liveConnections,
  refreshConnection,
  sharedServers,
  storedServers,
} from "./queries";
import { mergeConnections, type ServerConnection } from "./server-connection";

export interface Connections {
  list: readonly ServerConnection[];
  /** True while the stored connections load. */
  loading: boolean;
}

/** Returns the user's connections, updated by server events. */
export function useConnections(userId: string): Connections {
  const client = useQueryClient();
  const stored = useQuery(storedServers(userId));
  const live = useQuery(liveConnections(userId));
  useEffect(() => subscribeEvents((event) => applyEvent(client, userId, event)), [client, userId]);
  const list = useMemo(() => mergeConnections(stored.data ?? [], live.data ?? []), [stored.data, live.data]);
  return { list, loading: stored.isPending };
}

/** Reloads rows and states after a change. */
export async function reloadConnections(client: QueryClient, userId: string): Promise<void> {
  await Promise.all([
    client.invalidateQueries({ queryKey: storedServers(userId).queryKey }),
    client.invalidateQueries({ queryKey: liveConnections(userId).queryKey }),
    client.invalidateQueries({ queryKey: sharedServers(userId).queryKey }),
  ]);
}

/** Replaces a connection's live state. */
export function storeLiveState(client: QueryClient, userId: string, connection: Connection): void {
  client.setQueryData(liveConnections(userId).queryKey, (before) => [
    ...(before ?? []).filter((other) => other.id !== connection.id),
    connection,
  ]);
}

function applyEvent(client: QueryClient, userId: string, event: PageEvent): void {
  if (event.type === "open") void reloadConnections(client, userId);
  else if (event.type === "connection-removed") removeConnection(client, userId, event.id);
  else if (event.type === "connection") {
    const known = client
      .getQueryData(storedServers(userId).queryKey)
      ?.some((row) => row.id === event.connection.id);
    storeLiveState(client, userId, event.connection);
    if (known !== true) {
      void client.invalidateQueries({ queryKey: storedServers(userId).queryKey });
      void client.invalidateQueries({ queryKey: sharedServers(userId).queryKey });
    }
  }
}

function removeConnection(client: QueryClient, userId: string, id: string): void {
  client.setQueryData(liveConnections(userId).queryKey, (before) =>
    before?.filter((other) => other.id !== id),
  );
  client.setQueryData(storedServers(userId).queryKey, (before) => before?.filter((row) => row.id !== id));
}

/** Returns the mutation that reconnects to a server. */
export function useReconnect(userId: string, id: string) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: () => refreshConnection(id),
    onSuccess: (connection) => storeLiveState(client, userId, connection),
    onError: toastError,
  });
}

/** Returns the mutation that changes a connection; `onChanged` is called after it succeeded. */
export function useChange(userId: string, id: string, onChanged?: (connection: Connection) => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (change: ConnectionChange) => changeConnection(id, change),
    // Changes of a connection are sent one after another, so that the last one stays.
    scope: { id: `connection ${id}` },
    onSuccess: async (connection) => {
      storeLiveState(client, userId, connection);
      onChanged?.(connection);
      await reloadConnections(client, userId);
    },
    onError: (error) => {
      toastError(error);
      void reloadConnections(client, userId);
    },
  });
}
