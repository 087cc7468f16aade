import { useMutation } from "@tanstack/react-query";
import { Activity as Pulse, ChevronDown } from "lucide-react";
import type { ReactNode } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { type Permission, PERMISSIONS, type ToolPermission } from "@/lib/tool-permission";
import { Button } from "@/ui/button";
import { ServerIcon } from "@/ui/server-icon";
import { toastFailure } from "@/ui/toast";
import { allowTool } from "./queries";

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
        <h4 className="min-w-0 font-mono text-sm font-semibold wrap-anywhere">{tool.name}</h4>
      </div>
      <p className="line-clamp-4 flex-1 text-ink-2 wrap-anywhere">{showInvisible(tool.description)}</p>
      <span className="min-w-0 truncate text-sm text-ink-2">{tool.serverName}</span>
      {/* The place of the permission is kept, so that nothing moves when it comes. */}
      <div className="mt-2 flex min-h-8 items-center justify-between gap-2 touch:min-h-11">
        <div className="min-w-0">{permission}</div>
        <Button size="sm" onClick={onUse} className="shrink-0">
          {t("tools.use")}
        </Button>
      </div>
    </li>
  );
}

/** Colors of the permissions; the words say the same. */
const colors: Record<Permission, string> = {
  always: "bg-ok-soft text-ok",
  ask: "bg-warn-soft text-warn",
  never: "bg-err-soft text-err",
};

interface PermissionSelectProps {
  permission: ToolPermission;
  onChanged: () => Promise<void>;
}

/** Select for the permission of a tool. */
export function PermissionSelect({ permission, onChanged }: PermissionSelectProps) {
  const change = useMutation({
    mutationFn: (wanted: Permission) => allowTool(permission, wanted),
    onSuccess: onChanged,
    onError: (error) => toastFailure(t("permission.failed"), error),
  });
  return (
    <div className="grid gap-1">
      {permission.changed && <p className="text-sm text-warn">{t("permission.changed")}</p>}
      <span className="relative w-fit max-w-full">
        <select
          aria-label={t("permission.label", { tool: permission.tool })}
          value={permission.permission}
          disabled={change.isPending}
          onChange={(event) => change.mutate(event.target.value as Permission)}
          className={cn(
            "h-8 max-w-full appearance-none truncate rounded-full pr-8 pl-3 text-sm font-medium touch:h-11",
            colors[permission.permission],
          )}
        >
          {PERMISSIONS.map((one) => (
            <option key={one} value={one} className="bg-surface text-ink">
              {t(`permission.${one}`)}
            </option>
          ))}
        </select>
        <ChevronDown
          aria-hidden="true"
          className="pointer-events-none absolute top-1/2 right-2.5 size-4 -translate-y-1/2 text-ink-2"
        />
      </span>
    </div>
  );
}
