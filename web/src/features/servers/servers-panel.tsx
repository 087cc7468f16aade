import { useQuery } from "@tanstack/react-query";
import type { AvailableTool } from "@/lib/available-tool";
import { useDraft } from "@/lib/drafts";
import type { SignedInUser } from "@/lib/session";
import { AvailableToolsCard } from "./available-tools-card";
import { emptyDraft } from "./connect-draft";
import { ConnectForm } from "./connect-form";
import { ConnectionsCard } from "./connections-card";
import { sharedServers } from "./queries";
import { SharedServersCard } from "./shared-servers-card";
import type { Connections } from "./use-connections";

interface ServersPanelProps {
  user: SignedInUser;
  connections: Connections;
  tools: readonly AvailableTool[];
  /** Opens the list of public servers; undefined where there is none. */
  onBrowseServers: (() => void) | undefined;
}

/** The MCP Servers tab. */
export function ServersPanel({ user, connections, tools, onBrowseServers }: ServersPanelProps) {
  const offers = useQuery(sharedServers(user.id));
  const [draft, setDraft] = useDraft("servers.connect", emptyDraft);
  return (
    <div className="mx-auto grid max-w-page grid-cols-[minmax(0,5fr)_minmax(0,6fr)] items-start gap-5 px-5 pt-7 pb-12 max-wide:grid-cols-[minmax(0,1fr)] max-wide:px-3 max-wide:pt-[18px]">
      <ConnectForm userId={user.id} draft={draft} onChange={setDraft} onBrowseServers={onBrowseServers} />
      <div className="grid min-w-0 gap-5">
        <ConnectionsCard userId={user.id} connections={connections} />
        {/* They come when their place is known, below however many connections there are. */}
        {!connections.loading && !offers.isPending && (
          <>
            <SharedServersCard userId={user.id} connections={connections} />
            <AvailableToolsCard tools={tools} />
          </>
        )}
      </div>
    </div>
  );
}
