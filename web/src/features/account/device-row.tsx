import { Monitor, Smartphone } from "lucide-react";
import type { ReactNode } from "react";
import { t } from "@/lib/later-texts";
import { Badge } from "@/ui/badge";
import { describeDevice } from "./device-name";

interface DeviceRowProps {
  device: { userAgent: string | null; current: boolean };
  /** Line below the name. */
  about: string;
  /** Button at the end of the row. */
  children: ReactNode;
}

/** Row of a list of devices. */
export function DeviceRow({ device, about, children }: DeviceRowProps) {
  const Icon = describeDevice(device.userAgent).mobile ? Smartphone : Monitor;
  return (
    <li className="flex items-center gap-3 py-2.5 pr-2 pl-4">
      <Icon aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
      <div className="min-w-0 flex-1 text-md">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
          {nameOfDevice(device.userAgent)}
          {device.current && <Badge tone="ok">{t("account.devices.current")}</Badge>}
        </p>
        <p className="text-sm text-ink-2 tabular-nums">{about}</p>
      </div>
      {children}
    </li>
  );
}

/** Returns the name of a device: its browser and system. */
export function nameOfDevice(userAgent: string | null): string {
  const { browser, system } = describeDevice(userAgent);
  if (browser === undefined || system === undefined) return browser ?? system ?? t("account.devices.unknown");
  return t("account.devices.name", { browser, system });
}
