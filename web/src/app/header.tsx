import { LogOut, SlidersHorizontal } from "lucide-react";
import type { SignedInUser } from "@/lib/session";
import { settingsButtonId } from "@/lib/settings-steps";
import { t } from "@/lib/t";
import { useMedia } from "@/lib/use-media";
import { Button, IconButton } from "@/ui/button";
import { Logo } from "@/ui/logo";
import { Popover, useClosePopover } from "@/ui/popover";
import { TabList } from "@/ui/tabs";
import { type HomeTab, homeTabsId } from "./home-url";

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
  const isNarrow = useMedia(NARROW_MEDIA);
  return (
    <header className="bleed-head grid grid-cols-[1fr_auto_1fr] items-center gap-4 border-b border-line bg-surface px-5 py-2.5 max-wide:flex max-wide:gap-2 max-wide:px-2.5 max-wide:py-1 short:py-1">
      <Brand />
      <nav
        aria-label={t("app.sections")}
        className="max-wide:min-w-0 max-wide:flex-1 max-wide:overflow-x-auto"
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
          className="max-wide:flex max-wide:min-w-fit"
        />
      </nav>
      {isNarrow ? (
        <AccountMenu user={user} onOpenSettings={onOpenSettings} onSignOut={onSignOut} />
      ) : (
        <div className="flex min-w-0 items-center justify-end gap-1">
          {user.name !== "" && (
            <span className="max-w-40 shrink-0 truncate pr-1.5 text-md font-medium">{user.name}</span>
          )}
          <span className="min-w-0 truncate pr-1.5 text-md text-ink-2">{user.email}</span>
          <div className="flex shrink-0 items-center gap-1">
            <IconButton
              id={settingsButtonId}
              label={t("app.settings")}
              icon={<SlidersHorizontal />}
              aria-haspopup="dialog"
              onClick={onOpenSettings}
            />
            <Button variant="quiet" className="px-2.5" onClick={onSignOut}>
              {t("app.signOut")}
            </Button>
          </div>
        </div>
      )}
    </header>
  );
}

/** Windows with room for one row of tabs only. */
const NARROW_MEDIA = "(width < 761px)";

/** Menu behind the user's initial: the email, the settings and Sign Out. */
function AccountMenu({
  user,
  onOpenSettings,
  onSignOut,
}: Pick<HeaderProps, "user" | "onOpenSettings" | "onSignOut">) {
  return (
    <Popover
      // Closed settings return the focus to it.
      id={settingsButtonId}
      // Drawn by a style: a text in the button would have to be part of its name.
      trigger={
        <span
          data-letter={[...(user.name || user.email)][0]?.toUpperCase()}
          className="before:content-[attr(data-letter)]"
        />
      }
      triggerLabel={t("app.account")}
      triggerClassName="grid size-10 shrink-0 place-items-center rounded-full bg-accent-soft text-md font-semibold text-accent touch:size-11"
      label={t("app.account")}
      className="w-[min(300px,calc(100vw-20px))]"
    >
      <AccountActions user={user} onOpenSettings={onOpenSettings} onSignOut={onSignOut} />
    </Popover>
  );
}

function AccountActions({
  user,
  onOpenSettings,
  onSignOut,
}: Pick<HeaderProps, "user" | "onOpenSettings" | "onSignOut">) {
  const close = useClosePopover();
  return (
    <>
      <div className="border-b border-line px-2.5 pt-1.5 pb-2.5 text-md">
        {user.name !== "" && <p className="truncate font-medium">{user.name}</p>}
        <p className="wrap-anywhere text-ink-2">{user.email}</p>
      </div>
      <button
        type="button"
        onClick={() => {
          close();
          onOpenSettings();
        }}
        className="mt-1.5 flex min-h-11 w-full items-center gap-2.5 rounded-md px-2.5 text-left text-md hover:bg-sunken"
      >
        <SlidersHorizontal aria-hidden="true" className="size-4 text-ink-2" />
        {t("app.settings")}
      </button>
      <button
        type="button"
        onClick={onSignOut}
        className="flex min-h-11 w-full items-center gap-2.5 rounded-md px-2.5 text-left text-md hover:bg-sunken"
      >
        <LogOut aria-hidden="true" className="size-4 text-ink-2" />
        {t("app.signOut")}
      </button>
    </>
  );
}

/** Logo, title and tagline; for screen readers only where the tabs need the row. */
function Brand() {
  return (
    <div className="flex min-w-0 items-center gap-3 max-wide:sr-only">
      <Logo />
      <div className="min-w-0">
        <h1 className="leading-5 whitespace-nowrap">{t("app.title")}</h1>
        <p className="truncate text-sm leading-[18px] text-ink-2">{t("app.tagline")}</p>
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
