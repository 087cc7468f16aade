import type { AvailableTool } from "@/lib/available-tool";
import { showInvisible } from "@/lib/show-invisible";
import { Badge } from "@/ui/badge";
import { Card, CardHead } from "@/ui/card";
import { LoadMoreList } from "@/ui/load-more-list";
import { t } from "@/lib/later-texts";

interface AvailableToolsCardProps {
  tools: readonly AvailableTool[];
}

export function AvailableToolsCard({ tools }: AvailableToolsCardProps) {
  return (
    <Card aria-labelledby="available-title">
      <CardHead id="available-title" title={t("servers.available")}>
        {tools.length > 0 && <Badge>{tools.length}</Badge>}
      </CardHead>
      {tools.length === 0 && <p className="px-5 pt-1 pb-3 text-ink-2">{t("servers.noTools.hint")}</p>}
      <LoadMoreList items={tools} label={(n) => t("servers.moreTools", { n })}>
        {(shown) => (
          <ul className="divide-y divide-line pt-2">
            {shown.map((tool) => (
              <li
                key={`${tool.serverName}/${tool.name}`}
                className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-3 px-5 py-3.5 text-md"
              >
                <h3 className="self-center font-mono text-sm font-medium wrap-anywhere">{tool.name}</h3>
                <Badge className="max-w-40 self-start">
                  <span className="truncate leading-4">{tool.serverName}</span>
                </Badge>
                <p className="mt-0.5 line-clamp-3 text-ink-2 wrap-anywhere">
                  {showInvisible(tool.description)}
                </p>
              </li>
            ))}
          </ul>
        )}
      </LoadMoreList>
    </Card>
  );
}
