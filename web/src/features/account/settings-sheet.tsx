import { ProofHost } from "@/components/account/proof-dialog";
import type { SignedInUser } from "@/lib/session";
import { t } from "@/lib/t";
import { Sheet } from "@/ui/sheet";
import { ApiKeysSection } from "./api-keys-section";
import { AppearanceSection } from "./appearance-sections";
import { CallsSection } from "./calls-section";
import { DataSection } from "./data-section";
import { DevicesSection } from "./devices-section";
import { LanguageSection } from "./appearance-sections";
import { ModelDefaultsSection } from "./models/defaults-section";
import { ModelProvidersSection } from "./models/providers-section";
import { UsageSection } from "./models/usage-section";
import { ProfileSection } from "./profile-section";
import { SharesSection } from "./shares-section";
import { TwoStepSection } from "./two-step-section";

interface SettingsSheetProps {
  user: SignedInUser;
  onClose: () => void;
  /** Called before the user leaves deliberately, so that no URL leads back here. */
  onLeave: () => void;
}

/** The user's account settings. */
export function SettingsSheet({ user, onClose, onLeave }: SettingsSheetProps) {
  return (
    <Sheet title={t("app.settings")} subtitle={user.email} onClose={onClose}>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-7">
        <ProfileSection user={user} />
        <TwoStepSection user={user} />
        <DevicesSection user={user} onLeave={onLeave} />
        <ModelDefaultsSection user={user} />
        <ModelProvidersSection user={user} />
        <UsageSection user={user} />
        <ApiKeysSection user={user} />
        <CallsSection user={user} />
        <SharesSection user={user} />
        <AppearanceSection />
        <LanguageSection />
        <DataSection user={user} onLeave={onLeave} />
      </div>
      <ProofHost user={user} />
    </Sheet>
  );
}
