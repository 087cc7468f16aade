import { SlidersHorizontal } from "lucide-react";
import type { SignedInUser } from "@/lib/session";
import { t } from "@/lib/t";
import { Button, IconButton } from "@/ui/button";
import { Logo } from "@/ui/logo";
import { TabList } from "@/ui/tabs";
import { type HomeTab, homeTabsId } from "./home-url";
import { settingsButtonId } from "./home-url";

interface HeaderProps {
  user: SignedInUser;
  tab: HomeTab;
  onSelectTab: (tab: HomeTab) => void;
  /** Undefined while the tools load. */
  toolCount: number | undefined;
  onOpenSettings: () => void;
  onSignOut: () => void;
}

export function Header({ user, tab, onSelectTab, toolCount, onOpenSettings, onSignOut }: HeaderProps) {
  return (
    <header className="relative grid grid-cols-[1fr_auto_1fr] items-center gap-4 border-b border-line bg-surface px-5 py-2.5 max-wide:grid-cols-[minmax(0,1fr)_auto] max-wide:gap-1.5 max-wide:px-3 max-wide:py-1.5 short:py-1 short:max-wide:flex short:max-wide:overflow-x-auto">
      <Brand />
      <nav
        aria-label={t("app.sections")}
        className="max-wide:col-span-full max-wide:row-start-2 short:max-wide:shrink-0"
      >
        <TabList
          id={homeTabsId}
          label={t("app.sections")}
          items={[
            { value: "chat", label: t("app.tab.chat") },
            { value: "servers", label: t("app.tab.servers") },
            { value: "tools", label: <ToolsTabLabel count={toolCount} /> },
          ]}
          selected={tab}
          onSelect={onSelectTab}
          className="max-wide:flex"
        />
      </nav>
      <div className="flex min-w-0 items-center justify-end gap-1 short:max-wide:ml-auto short:max-wide:shrink-0 max-phone:flex-col-reverse max-phone:items-end max-phone:gap-0">
        {user.name !== "" && (
          <span className="max-w-40 shrink-0 truncate pr-1.5 text-md font-medium max-wide:hidden">
            {user.name}
          </span>
        )}
        <span className="min-w-0 truncate pr-1.5 text-md text-ink-2 max-wide:max-w-[120px] max-wide:text-xs max-phone:pr-2 short:max-wide:sr-only">
          {user.email}
        </span>
        <div className="flex shrink-0 items-center gap-1 max-phone:-my-1 max-phone:gap-0">
          <IconButton
            id={settingsButtonId}
            label={t("app.settings")}
            icon={<SlidersHorizontal />}
            aria-haspopup="dialog"
            onClick={onOpenSettings}
          />
          <Button variant="quiet" className="px-2.5 max-wide:px-2" onClick={onSignOut}>
            {t("app.signOut")}
          </Button>
        </div>
      </div>
    </header>
  );
}

function Brand() {
  return (
    <div className="flex min-w-0 items-center gap-3 short:max-wide:sr-only">
      <Logo className="max-phone:hidden" />
      <div className="min-w-0">
        <h1 className="leading-5 whitespace-nowrap">{t("app.title")}</h1>
        <p className="truncate text-sm leading-[18px] text-ink-2 max-wide:text-xs max-phone:leading-[15px] max-phone:whitespace-normal">
          {t("app.tagline")}
        </p>
      </div>
    </div>
  );
}

function ToolsTabLabel({ count }: { count: number | undefined }) {
  if (count === undefined) return t("app.tab.tools");
  return (
    <>
      {`${t("app.tab.tools")} `}
      <span className="text-xs font-medium text-ink-2 tabular-nums">{`(${count})`}</span>
    </>
  );
}
