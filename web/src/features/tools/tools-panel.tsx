import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Search } from "lucide-react";
import { useDeferredValue, useEffect, useMemo, useState } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { subscribeEvents } from "@/lib/events";
import { t } from "@/lib/later-texts";
import { Input } from "@/ui/field";
import { LoadMoreList } from "@/ui/load-more-list";
import { permissionsQuery } from "./queries";
import { ServerGroup } from "./server-group";
import { PermissionSelect, ToolCard } from "./tool-card";
import { ToolSheet } from "./tool-sheet";

interface ToolsPanelProps {
  userId: string;
  tools: readonly AvailableTool[];
  loading: boolean;
  /** Inserts the tool's name into the chat's message field. */
  onUseInChat: (toolName: string) => void;
}

/** The Tools tab. */
export function ToolsPanel({ userId, tools, loading, onUseInChat }: ToolsPanelProps) {
  const [query, setQuery] = useState("");
  const [open, setOpen] = useState<AvailableTool | null>(null);
  const found = findTools(tools, useDeferredValue(query));
  const client = useQueryClient();
  const { data: permissions } = useQuery(permissionsQuery(userId));
  const reload = () => client.invalidateQueries({ queryKey: permissionsQuery(userId).queryKey });
  useEffect(
    () =>
      subscribeEvents((event) => {
        // A server may have changed its tools or become reachable.
        if (event.type !== "connection" && event.type !== "open") return;
        void client.invalidateQueries({ queryKey: permissionsQuery(userId).queryKey });
      }),
    [client, userId],
  );

  const byTool = useMemo(
    () => new Map(permissions?.map((one) => [keyOf(one.serverName, one.tool), one])),
    [permissions],
  );

  function permissionOf(tool: AvailableTool) {
    const known = byTool.get(keyOf(tool.serverName, tool.name));
    return known && <PermissionSelect permission={known} onChanged={reload} />;
  }

  function takeToChat(tool: AvailableTool): void {
    setOpen(null);
    onUseInChat(tool.name);
  }

  return (
    <div className="mx-auto max-w-page px-5 pt-7 pb-12 max-wide:px-3 max-wide:pt-[18px]">
      <div className="mb-4 flex min-h-11 flex-wrap items-center gap-x-4 gap-y-2">
        <h2 className="mr-auto text-lg">{t("tools.title")}</h2>
        {tools.length > 0 && <SearchField value={query} onChange={setQuery} />}
      </div>
      {tools.length === 0 && !loading && <NoTools />}
      {tools.length > 0 && found.length === 0 && (
        <p className="text-ink-2">{t("tools.noMatch", { query })}</p>
      )}
      <LoadMoreList items={found} label={(n) => t("tools.more", { n })}>
        {(shown) =>
          [...Map.groupBy(shown, ({ serverName }) => serverName)].map(([serverName, ofServer]) => (
            <ServerGroup
              key={serverName}
              name={serverName}
              count={tools.filter((tool) => tool.serverName === serverName).length}
              pictures={ofServer[0]?.serverPictures}
              connectionId={permissions?.find((one) => one.serverName === serverName)?.connectionId}
              onChanged={reload}
            >
              <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,19rem),1fr))] gap-3.5">
                {ofServer.map((tool) => (
                  <ToolCard
                    key={tool.name}
                    tool={tool}
                    permission={permissionOf(tool)}
                    onUse={() => setOpen(tool)}
                  />
                ))}
              </ul>
            </ServerGroup>
          ))
        }
      </LoadMoreList>
      {open !== null && (
        <ToolSheet tool={open} onClose={() => setOpen(null)} onUseInChat={() => takeToChat(open)} />
      )}
    </div>
  );
}

function keyOf(serverName: string, tool: string): string {
  return `${serverName}/${tool}`;
}

interface SearchFieldProps {
  value: string;
  onChange: (value: string) => void;
}

function SearchField({ value, onChange }: SearchFieldProps) {
  return (
    <div className="relative w-60 max-wide:w-full">
      <Search
        aria-hidden="true"
        className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-ink-3"
      />
      <Input
        type="search"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        aria-label={t("tools.find")}
        placeholder={t("tools.find")}
        className="h-9 pl-9 text-md"
      />
    </div>
  );
}

function NoTools() {
  return (
    <div className="grid min-h-[50dvh] place-content-center justify-items-center gap-1 text-center">
      <h3 className="text-lg">{t("tools.none.title")}</h3>
      <p className="text-balance text-ink-2">{t("tools.none.text")}</p>
    </div>
  );
}

/** Returns the tools that contain every word of the query in their name, description or server. */
function findTools(tools: readonly AvailableTool[], query: string): readonly AvailableTool[] {
  const words = query.toLowerCase().split(/\s+/u).filter(Boolean);
  if (words.length === 0) return tools;
  return tools.filter((tool) => {
    const text = `${tool.name} ${tool.description} ${tool.serverName}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
