import { Activity as Pulse } from "lucide-react";
import type { ReactNode } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { showInvisible } from "@/lib/show-invisible";
import { Button } from "@/ui/button";
import { ServerIcon } from "@/ui/server-icon";
import { t } from "@/lib/later-texts";

interface ToolCardProps {
  tool: AvailableTool;
  /** Permission of the tool, once loaded. */
  permission: ReactNode;
  onUse: () => void;
}

export function ToolCard({ tool, permission, onUse }: ToolCardProps) {
  return (
    <li className="flex flex-col gap-1.5 rounded-xl border border-line bg-surface p-4 text-md">
      <div className="flex items-center gap-2">
        {tool.pictures && <ServerIcon {...tool.pictures} fallback={<Pulse />} />}
        <h3 className="min-w-0 font-mono text-sm font-semibold wrap-anywhere">{tool.name}</h3>
      </div>
      <p className="line-clamp-4 flex-1 text-ink-2 wrap-anywhere">{showInvisible(tool.description)}</p>
      {/* Its place is kept, so that nothing moves when it comes. */}
      <div className="min-h-10 touch:min-h-11">{permission}</div>
      <div className="mt-2 flex items-center justify-between gap-2">
        <span className="min-w-0 truncate text-sm text-ink-2">{tool.serverName}</span>
        <Button size="sm" onClick={onUse}>
          {t("tools.use")}
        </Button>
      </div>
    </li>
  );
}
