import { useMutation } from "@tanstack/react-query";
import { BookOpenCheck, CircleQuestionMark, CircleSlash, Server, ShieldEllipsis } from "lucide-react";
import { type ReactNode, useId } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { t } from "@/lib/later-texts";
import { allowTools, type Permission, type ToolsOfServer } from "@/lib/tool-permission";
import { ActionItem, ActionList } from "@/ui/action-list";
import { iconButtonClass } from "@/ui/button";
import { Popover, useClosePopover } from "@/ui/popover";
import { ServerIcon } from "@/ui/server-icon";
import { toast, toastFailure } from "@/ui/toast";

interface ServerGroupProps {
  name: string;
  /** Number of the server's tools. */
  count: number;
  pictures: AvailableTool["serverPictures"];
  /** Connection whose tools the menu allows or denies; undefined until the permissions are loaded. */
  connectionId: string | undefined;
  onChanged: () => Promise<void>;
  children: ReactNode;
}

/** Tools of one server, under a head with a menu for the permission of all of them. */
export function ServerGroup({ name, count, pictures, connectionId, onChanged, children }: ServerGroupProps) {
  const titleId = useId();
  return (
    <section aria-labelledby={titleId} className="mb-8 last:mb-0">
      <div className="mb-3 flex min-h-9 items-center gap-2 touch:min-h-11">
        {pictures === undefined ? (
          <Server aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
        ) : (
          <ServerIcon {...pictures} fallback={<Server />} />
        )}
        <h3 id={titleId} className="min-w-0 text-md font-semibold wrap-anywhere">
          {name}
        </h3>
        <span className="shrink-0 text-sm text-ink-2 tabular-nums">{t("tools.count", { n: count })}</span>
        {connectionId !== undefined && (
          <GroupMenu name={name} connectionId={connectionId} onChanged={onChanged} />
        )}
      </div>
      {children}
    </section>
  );
}

interface GroupMenuProps {
  name: string;
  connectionId: string;
  onChanged: () => Promise<void>;
}

function GroupMenu({ name, connectionId, onChanged }: GroupMenuProps) {
  const change = useMutation({
    mutationFn: ({ tools, permission }: { tools: ToolsOfServer; permission: Permission }) =>
      allowTools(connectionId, tools, permission),
    onSuccess: async ({ length }) => {
      toast({ title: t("tools.group.changed", { n: length }), description: name, tone: "ok" });
      await onChanged();
    },
    onError: (error) => toastFailure(t("permission.failed"), error),
  });
  return (
    <Popover
      trigger={<ShieldEllipsis aria-hidden="true" />}
      triggerLabel={t("tools.group.menu", { server: name })}
      triggerClassName={iconButtonClass({ size: "sm" })}
      label={t("tools.group.menu", { server: name })}
      align="start"
    >
      <GroupActions onSelect={(tools, permission) => change.mutate({ tools, permission })} />
    </Popover>
  );
}

interface GroupActionsProps {
  onSelect: (tools: ToolsOfServer, permission: Permission) => void;
}

function GroupActions({ onSelect }: GroupActionsProps) {
  const close = useClosePopover();
  const select = (tools: ToolsOfServer, permission: Permission) => () => {
    close();
    onSelect(tools, permission);
  };
  return (
    <ActionList>
      <ActionItem
        icon={<BookOpenCheck aria-hidden="true" />}
        label={t("tools.group.alwaysReadOnly")}
        onClick={select("read-only", "always")}
      />
      <ActionItem
        icon={<CircleQuestionMark aria-hidden="true" />}
        label={t("tools.group.ask")}
        onClick={select("all", "ask")}
      />
      <ActionItem
        icon={<CircleSlash aria-hidden="true" />}
        label={t("tools.group.never")}
        onClick={select("all", "never")}
      />
    </ActionList>
  );
}
