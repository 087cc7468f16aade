import { useMutation } from "@tanstack/react-query";
import { t } from "@/lib/later-texts";
import { Select } from "@/ui/field";
import { toast } from "@/ui/toast";
import { allowTool, type Permission, PERMISSIONS, type ToolPermission } from "./queries";

interface PermissionSelectProps {
  permission: ToolPermission;
  onChanged: () => Promise<void>;
}

/** Select for the permission of a tool. */
export function PermissionSelect({ permission, onChanged }: PermissionSelectProps) {
  const change = useMutation({
    mutationFn: (wanted: Permission) => allowTool(permission, wanted),
    onSuccess: onChanged,
    onError: (error) => toast({ title: t("permission.failed"), description: error.message, tone: "err" }),
  });
  return (
    <div className="grid gap-1">
      {permission.changed && <p className="text-sm text-warn">{t("permission.changed")}</p>}
      <Select
        aria-label={t("permission.label", { tool: permission.tool })}
        value={permission.permission}
        disabled={change.isPending}
        onChange={(event) => change.mutate(event.target.value as Permission)}
        className="text-sm"
      >
        {PERMISSIONS.map((one) => (
          <option key={one} value={one}>
            {t(`permission.${one}`)}
          </option>
        ))}
      </Select>
    </div>
  );
}
