import { ArrowLeft, ChevronRight, X } from "lucide-react";
import { type MouseEvent, type ReactNode, useEffect, useRef } from "react";
import { ProofHost } from "@/components/account/proof-dialog";
import { boot } from "@/lib/boot";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { useMedia } from "@/lib/use-media";
import { IconButton } from "@/ui/button";
import { useModal } from "@/ui/use-modal";
import { ActivitySection } from "./activity-section";
import { ApiKeysSection } from "./api-keys-section";
import { AppearanceSection } from "./appearance-section";
import { CallsSection } from "./calls-section";
import { DataSection } from "./data-section";
import { DevicesSection } from "./devices-section";
import { IdentitiesSection } from "./identities-section";
import { ModelDefaultsSection } from "./models/defaults-section";
import { ModelProvidersSection } from "./models/providers-section";
import { UsageSection } from "./models/usage-section";
import { NotificationsSection } from "./notifications-section";
import { PasskeysSection } from "./passkeys-section";
import { PasswordSection } from "./password-section";
import { ProfileSection } from "./profile-section";
import { panelHeadingId } from "./section";
import { type SettingsSection, settingsSections } from "./settings-sections";
import { SharesSection } from "./shares-section";
import { TwoStepSection } from "./two-step-section";
import { closeSettings, useSection } from "./use-section";

interface SettingsPanelProps {
  user: SignedInUser;
  /** Called before the user leaves deliberately, so that no URL leads back here. */
  onLeave: () => void;
}

/** Windows without room for the navigation beside a section. */
const NARROW_MEDIA = "(width < 761px)";

/** Dialog with the settings: their navigation and one section, one after the other where the window is narrow. */
export function SettingsPanel({ user, onLeave }: SettingsPanelProps) {
  const { dialogProps, close } = useModal();
  const navigation = useSection();
  const isNarrow = useMedia(NARROW_MEDIA);
  const { section } = navigation;
  const shown = section ?? (isNarrow ? undefined : settingsSections[0]);
  useSectionFocus(section);
  return (
    <dialog
      {...dialogProps}
      aria-label={t("app.settings")}
      onClose={closeSettings}
      className={cn(
        "fixed inset-0 m-auto h-[min(40rem,calc(100dvh-4rem))] max-h-none w-[min(55rem,calc(100vw-4rem))] max-w-none overflow-hidden rounded-xl border border-line bg-surface shadow-float backdrop:bg-scrim",
        "animate-enter max-wide:m-0 max-wide:h-dvh max-wide:w-screen max-wide:rounded-none max-wide:border-0",
      )}
    >
      <div className="grid h-full grid-cols-[13.5rem_minmax(0,1fr)] max-wide:grid-cols-[minmax(0,1fr)] max-wide:pt-(--safe-top) max-wide:pb-(--safe-bottom)">
        {(!isNarrow || shown === undefined) && (
          <Navigation {...navigation} shown={shown} onClose={isNarrow ? close : undefined} />
        )}
        {shown !== undefined && (
          <Panel section={shown} onBack={isNarrow ? navigation.goToStart : undefined} onClose={close}>
            {contentOf(shown, { user, onLeave })}
          </Panel>
        )}
      </div>
      <ProofHost user={user} />
    </dialog>
  );
}

/** Focuses the heading of a section that is opened, and in the list the link to the section that was left. */
function useSectionFocus(section: SettingsSection | undefined): void {
  const left = useRef<SettingsSection>(undefined);
  useEffect(() => {
    const target = section === undefined ? left.current && linkId(left.current) : panelHeadingId;
    left.current = section;
    if (target !== undefined) document.getElementById(target)?.focus();
  }, [section]);
}

const linkId = (section: SettingsSection): string => `settings-to-${section}`;

interface NavigationProps extends Pick<ReturnType<typeof useSection>, "linkTo" | "goTo"> {
  shown: SettingsSection | undefined;
  /** Adds a close button, where the navigation has the window for itself. */
  onClose: (() => void) | undefined;
}

function Navigation({ linkTo, goTo, shown, onClose }: NavigationProps) {
  function onClick(event: MouseEvent, section: SettingsSection): void {
    // Links open new tabs and windows as everywhere.
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    goTo(section);
  }
  return (
    <nav
      aria-label={t("app.settings")}
      className="grid min-h-0 content-start overflow-auto bg-sunken p-2.5 max-wide:bg-surface max-wide:p-0"
    >
      <div className="flex items-center justify-between px-2.5 pt-2.5 pb-4 max-wide:border-b max-wide:border-line max-wide:px-5 max-wide:py-2">
        <h2 className="text-base leading-6">{t("app.settings")}</h2>
        {onClose && <IconButton label={t("ui.close")} icon={<X />} size="sm" onClick={onClose} />}
      </div>
      <ul className="grid gap-0.5 max-wide:gap-0 max-wide:px-2.5 max-wide:py-1.5">
        {settingsSections.map((section) => (
          <li key={section}>
            <a
              id={linkId(section)}
              href={linkTo(section)}
              aria-current={section === shown ? "page" : undefined}
              onClick={(event) => onClick(event, section)}
              className="flex min-h-[34px] items-center justify-between gap-2 rounded-[8px] px-2.5 text-md text-ink-2 hover:text-ink aria-[current]:bg-surface aria-[current]:font-medium aria-[current]:text-ink aria-[current]:shadow-raised touch:min-h-11 max-wide:min-h-12 max-wide:text-ink max-wide:hover:bg-sunken"
            >
              {t(`settings.section.${section}`)}
              <ChevronRight aria-hidden="true" className="hidden size-4 shrink-0 text-ink-3 max-wide:block" />
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

interface PanelProps {
  section: SettingsSection;
  /** Adds a button that leads back to the list of the sections. */
  onBack: (() => void) | undefined;
  onClose: () => void;
  children: ReactNode;
}

function Panel({ section, onBack, onClose, children }: PanelProps) {
  return (
    <section
      // A section begins at its top.
      key={section}
      aria-labelledby={panelHeadingId}
      className="grid min-h-0 grid-cols-[minmax(0,1fr)] grid-rows-[auto_minmax(0,1fr)]"
    >
      <header className="flex items-center gap-1.5 px-6.5 pt-4 pb-3 max-wide:border-b max-wide:border-line max-wide:px-2.5 max-wide:py-1.5">
        {onBack && <IconButton label={t("settings.back")} icon={<ArrowLeft />} size="sm" onClick={onBack} />}
        <h2
          id={panelHeadingId}
          tabIndex={-1}
          className="min-w-0 flex-1 rounded-sm text-lg wrap-anywhere outline-none max-wide:text-base"
        >
          {t(`settings.section.${section}`)}
        </h2>
        <IconButton label={t("ui.close")} icon={<X />} size="sm" onClick={onClose} />
      </header>
      {/* Positioned, so that what is hidden from sight in it scrolls along instead of making the dialog longer. */}
      <div className="relative grid grid-cols-[minmax(0,1fr)] content-start gap-7 overflow-auto px-6.5 pt-1 pb-6.5 max-wide:p-5">
        {children}
      </div>
    </section>
  );
}

function contentOf(section: SettingsSection, { user, onLeave }: SettingsPanelProps): ReactNode {
  switch (section) {
    case "account":
      return <ProfileSection user={user} />;
    case "security":
      return (
        <>
          {boot.provider?.only !== true && <PasswordSection user={user} />}
          {boot.passkeys && <PasskeysSection user={user} />}
          {boot.provider && <IdentitiesSection user={user} provider={boot.provider.name} />}
          <TwoStepSection user={user} />
          <DevicesSection user={user} onLeave={onLeave} />
          <ActivitySection user={user} />
        </>
      );
    case "appearance":
      return <AppearanceSection />;
    case "notifications":
      return <NotificationsSection user={user} />;
    case "models":
      return <ModelDefaultsSection user={user} />;
    case "providers":
      return <ModelProvidersSection user={user} />;
    case "usage":
      return <UsageSection user={user} />;
    case "tools":
      return <CallsSection user={user} />;
    case "data":
      return (
        <>
          <SharesSection user={user} />
          <DataSection user={user} onLeave={onLeave} />
        </>
      );
    case "api-keys":
      return <ApiKeysSection user={user} />;
  }
}
