import { useQuery } from "@tanstack/react-query";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Card, CardHead } from "@/ui/card";
import { useFocusHandover } from "@/ui/focus";
import { useConnectShared } from "./connect";
import { connectionsTitle } from "./connection-row";
import { type SharedServer, sharedServers } from "./queries";
import type { Connections } from "./use-connections";

interface SharedServersCardProps {
  userId: string;
  connections: Connections;
}

/** Servers that the operator offers, without those that the user is connected to. Absent if there are none. */
export function SharedServersCard({ userId, connections }: SharedServersCardProps) {
  const { data = [] } = useQuery(sharedServers(userId));
  const isConnected = ({ connection }: SharedServer) => connections.list.some(({ id }) => id === connection);
  const offered = data.filter((server) => !isConnected(server));
  if (offered.length === 0) return null;
  return (
    <Card aria-labelledby="shared-servers-title">
      <CardHead id="shared-servers-title" title={t("servers.shared")} />
      <p className="px-5 pt-1 text-md text-ink-2">{t("servers.shared.about")}</p>
      <ul className="divide-y divide-line pt-2 pb-1">
        {offered.map((server) => (
          <SharedServerRow key={server.id} userId={userId} server={server} />
        ))}
      </ul>
    </Card>
  );
}

function SharedServerRow({ userId, server }: { userId: string; server: SharedServer }) {
  const { id, name, description, url } = server;
  const connect = useConnectShared(userId);
  // A connected server leaves the list; keyboard users continue from the list of connections.
  const row = useFocusHandover<HTMLLIElement>(connectionsTitle);
  return (
    <li ref={row} className="flex items-center gap-3 px-5 py-3.5">
      <div className="grid min-w-0 flex-1 gap-0.5">
        <h3 className="text-base font-medium wrap-anywhere">{name}</h3>
        {description !== "" && <p className="text-md text-ink-2 wrap-anywhere">{description}</p>}
        <p className="truncate font-mono text-sm text-ink-2" title={url}>
          {url}
        </p>
      </div>
      <Button
        size="sm"
        aria-label={t("servers.shared.connectNamed", { name })}
        aria-disabled={connect.isPending || undefined}
        busy={connect.isPending}
        onClick={() => {
          if (!connect.isPending) connect.mutate(id);
        }}
      >
        {t("servers.browse.connect")}
      </Button>
    </li>
  );
}
