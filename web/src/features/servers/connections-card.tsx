import { useState } from "react";
import { t } from "@/lib/later-texts";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Card, CardHead } from "@/ui/card";
import { useFocusHandover } from "@/ui/focus";
import { toolboxDraft, useConnect } from "./connect";
import { ConnectionPlaceholder, ConnectionRow, connectionsTitle, connectionsTitleId } from "./connection-row";
import { ConnectionSheet } from "./details/connection-sheet";
import type { Connections } from "./use-connections";

interface ConnectionsCardProps {
  userId: string;
  connections: Connections;
}

export function ConnectionsCard({ userId, connections }: ConnectionsCardProps) {
  const { list, loading } = connections;
  const [openId, setOpenId] = useState<string>();
  const open = list.find((connection) => connection.id === openId);
  return (
    <Card aria-labelledby={connectionsTitleId}>
      <CardHead id={connectionsTitleId} title={t("servers.active")}>
        {list.length > 0 && <Badge>{list.length}</Badge>}
      </CardHead>
      {loading && <SkeletonRows />}
      {!loading && list.length === 0 && <NoConnections userId={userId} />}
      <ul className="divide-y divide-line pt-2">
        {list.map((connection) => (
          <ConnectionRow
            key={connection.id}
            userId={userId}
            connection={connection}
            onOpen={() => setOpenId(connection.id)}
          />
        ))}
      </ul>
      {open !== undefined && (
        <ConnectionSheet userId={userId} connection={open} onClose={() => setOpenId(undefined)} />
      )}
    </Card>
  );
}

function NoConnections({ userId }: { userId: string }) {
  const connect = useConnect(userId);
  // The button disappears with the first connection; keyboard users continue from the list.
  const own = useFocusHandover<HTMLDivElement>(connectionsTitle);
  return (
    <div ref={own} className="px-5 pt-1 pb-3">
      <p className="text-ink-2">{t("servers.noneActive")}</p>
      <div className="mt-3 flex flex-wrap items-center justify-between gap-x-4 gap-y-2 rounded-md bg-sunken px-3.5 py-2.5">
        <p className="min-w-40 flex-1 text-md text-ink-2">{t("servers.toolbox.about")}</p>
        <Button
          size="sm"
          aria-disabled={connect.isPending || undefined}
          busy={connect.isPending}
          onClick={() => {
            if (!connect.isPending) connect.mutate(toolboxDraft());
          }}
        >
          {t("servers.toolbox.use")}
        </Button>
      </div>
    </div>
  );
}

/** Placeholders of two rows, shown only after a delay. */
function SkeletonRows() {
  return (
    <div role="status" aria-label={t("app.loading")} className="appear-late divide-y divide-line pt-2">
      <ConnectionPlaceholder />
      <ConnectionPlaceholder />
    </div>
  );
}
