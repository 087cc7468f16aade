import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { LogOut } from "lucide-react";
import { useEffect } from "react";
import { subscribeEvents } from "@/lib/events";
import { t } from "@/lib/later-texts";
import { auth, type SignedInUser, signOut } from "@/lib/session";
import { ConfirmButton } from "@/ui/confirm-button";
import { toast, toastError } from "@/ui/toast";
import { DeviceRow, nameOfDevice } from "./device-row";
import { whenOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { type Device, devicesQuery, endDevice } from "./queries";
import { focusSection, Section } from "./section";

interface DevicesSectionProps {
  user: SignedInUser;
  /** Called before this device signs out. */
  onLeave: () => void;
}

/** Devices on which the user is signed in, with buttons to sign out. */
export function DevicesSection({ user, onLeave }: DevicesSectionProps) {
  const client = useQueryClient();
  const { queryKey } = devicesQuery(user.id);
  const { data: devices, error } = useQuery(devicesQuery(user.id));
  const reload = () => client.invalidateQueries({ queryKey });
  useEffect(
    () =>
      subscribeEvents((event) => {
        if (event.type === "devices" || event.type === "open") void client.invalidateQueries({ queryKey });
      }),
    [client, queryKey],
  );
  const endOthers = useMutation({
    mutationFn: async () => {
      const ended = await auth.signOut({ scope: "others" });
      if (ended.error !== null) throw ended.error;
    },
    onSuccess: async () => {
      focusSection("devices");
      await reload();
      toast({ title: t("account.devices.othersEnded"), tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <Section
      id="devices"
      title={t("account.devices")}
      foot={
        (devices?.length ?? 0) > 1 && (
          <div className="justify-self-start">
            <ConfirmButton
              trigger={t("account.devices.endOthers")}
              outlined
              question={t("account.devices.endOthers.question")}
              confirm={t("account.devices.endOthers")}
              onConfirm={() => endOthers.mutate()}
            />
          </div>
        )
      }
    >
      {devices === undefined && (error ? <FailedRow queryKey={queryKey} /> : <LoadingRow />)}
      {devices !== undefined && (
        <ul className="divide-y divide-line">
          {devices.map((device) => (
            <SignInRow key={device.id} device={device} onEnded={reload} onLeave={onLeave} />
          ))}
        </ul>
      )}
    </Section>
  );
}

interface SignInRowProps {
  device: Device;
  onEnded: () => Promise<void>;
  onLeave: () => void;
}

function SignInRow({ device, onEnded, onLeave }: SignInRowProps) {
  const name = nameOfDevice(device.userAgent);
  const end = useMutation({
    mutationFn: async () => {
      if (!device.current) return endDevice(device.id);
      onLeave();
      return signOut();
    },
    onSuccess: async () => {
      if (device.current) return;
      focusSection("devices");
      await onEnded();
      toast({ title: t("account.devices.ended"), description: name, tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <DeviceRow
      device={device}
      about={
        device.current
          ? t("account.devices.now")
          : t("account.devices.lastUsed", { when: whenOf(device.lastUsedAt) })
      }
    >
      <ConfirmButton
        trigger={<LogOut aria-hidden="true" />}
        label={t(device.current ? "account.devices.endThis" : "account.devices.end", { name })}
        question={t(device.current ? "account.devices.endThis.question" : "account.devices.end.question", {
          name,
        })}
        confirm={t("app.signOut")}
        onConfirm={() => end.mutate()}
      />
    </DeviceRow>
  );
}
