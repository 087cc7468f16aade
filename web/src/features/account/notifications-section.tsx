import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { BellOff, Trash2 } from "lucide-react";
import { type ReactNode, useCallback, useEffect, useState } from "react";
import { t } from "@/lib/later-texts";
import {
  isNotifying,
  notificationPermission,
  type PushDevice,
  removePushDevice,
  subscribePush,
  supportsPush,
  switchOff,
  switchOn,
  unsubscribePush,
} from "@/lib/notifications";
import type { SignedInUser } from "@/lib/session";
import { ConfirmButton } from "@/ui/confirm-button";
import { toast, toastError, toastFailure } from "@/ui/toast";
import { ChoiceRow } from "./choice-row";
import { DeviceRow, nameOfDevice } from "./device-row";
import { whenOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { pushQuery } from "./queries";
import { focusSection, Section } from "./section";

interface NotificationsSectionProps {
  user: SignedInUser;
}

/** When this device shows notifications. */
type Mode = "off" | "open" | "always";

/** Notifications of this device, and the devices that have them while no page is open. */
export function NotificationsSection({ user }: NotificationsSectionProps) {
  const [permission, readPermission] = usePermission();
  const push = useQuery(pushQuery(user.id));
  return (
    <>
      {permission === undefined ? (
        <Notice>{t("notifications.unsupported")}</Notice>
      ) : (
        <ThisDevice user={user} permission={permission} onAsked={readPermission} isLoading={push.isPending} />
      )}
      <Section id="push-devices" title={t("notifications.devices")} about={t("notifications.devices.about")}>
        {push.data === undefined &&
          (push.error ? <FailedRow queryKey={pushQuery(user.id).queryKey} /> : <LoadingRow />)}
        {push.data?.devices.length === 0 && (
          <p className="px-4 py-3 text-md text-ink-2">{t("notifications.devices.none")}</p>
        )}
        {push.data !== undefined && push.data.devices.length > 0 && (
          <ul className="divide-y divide-line">
            {push.data.devices.map((device) => (
              <PushDeviceRow key={device.id} user={user} device={device} />
            ))}
          </ul>
        )}
      </Section>
    </>
  );
}

interface ThisDeviceProps extends NotificationsSectionProps {
  permission: NotificationPermission;
  /** Called when the user has answered the browser's question. */
  onAsked: () => void;
  /** True while it is not known which devices receive push messages. */
  isLoading: boolean;
}

function ThisDevice({ user, permission, onAsked, isLoading }: ThisDeviceProps) {
  const client = useQueryClient();
  const query = pushQuery(user.id);
  const { data: push } = useQuery(query);
  const [isOn, setIsOn] = useState(isNotifying);
  const current = push?.devices.find((device) => device.current);
  const reload = () => client.invalidateQueries({ queryKey: query.queryKey });

  async function choose(next: Mode): Promise<void> {
    if (next === "off") switchOff();
    else {
      const isPermitted = await switchOn(user.id);
      onAsked();
      if (!isPermitted) return;
    }
    setIsOn(next !== "off");
    if (next === "always" && push) await subscribePush(push.publicKey);
    else if (current) {
      await removePushDevice(current.id);
      await unsubscribePush();
    }
  }
  const change = useMutation({
    mutationFn: choose,
    onError: (error) => toastFailure(t("notifications.failed"), error),
    onSettled: reload,
  });
  const chosen: Mode = !isOn || permission !== "granted" ? "off" : current ? "always" : "open";
  const modes: readonly Mode[] = supportsPush() ? ["off", "open", "always"] : ["off", "open"];
  return (
    <div className="grid gap-3">
      <div className="border-y border-line max-wide:-mt-4 max-wide:border-t-0">
        <ChoiceRow
          name="notifications"
          title={t("notifications.device")}
          about={t("notifications.device.about")}
          choices={modes.map((mode) => ({ value: mode, label: t(`notifications.mode.${mode}`) }))}
          chosen={change.isPending ? change.variables : chosen}
          onChoose={(mode) => {
            if (!change.isPending && !(mode === "always" && isLoading)) change.mutate(mode);
          }}
        />
      </div>
      {permission === "denied" && <Notice>{t("notifications.blocked")}</Notice>}
      <p className="text-sm text-ink-2">{t("notifications.privacy")}</p>
    </div>
  );
}

/** Notice that this device cannot show notifications, and what to do. */
function Notice({ children }: { children: ReactNode }) {
  return (
    <p role="status" className="flex gap-2.5 rounded-md bg-warn-soft px-3.5 py-3 text-md text-warn">
      <BellOff aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
      <span>{children}</span>
    </p>
  );
}

interface PushDeviceRowProps extends NotificationsSectionProps {
  device: PushDevice;
}

function PushDeviceRow({ user, device }: PushDeviceRowProps) {
  const client = useQueryClient();
  const name = nameOfDevice(device.userAgent);
  const remove = useMutation({
    mutationFn: async () => {
      await removePushDevice(device.id);
      if (device.current) await unsubscribePush();
    },
    onSuccess: async () => {
      focusSection("push-devices");
      await client.invalidateQueries({ queryKey: pushQuery(user.id).queryKey });
      toast({ title: t("notifications.devices.removed"), description: name, tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <DeviceRow device={device} about={t("notifications.devices.since", { when: whenOf(device.createdAt) })}>
      <ConfirmButton
        trigger={<Trash2 aria-hidden="true" />}
        label={t("notifications.devices.remove", { name })}
        question={t("notifications.devices.remove.question", { name })}
        confirm={t("notifications.devices.remove.confirm")}
        onConfirm={() => remove.mutate()}
      />
    </DeviceRow>
  );
}

/** Returns the browser's permission, also after the user has changed it in the browser, and a function to read it. */
function usePermission(): [NotificationPermission | undefined, () => void] {
  const [permission, setPermission] = useState(notificationPermission);
  const read = useCallback(() => setPermission(notificationPermission()), []);
  useEffect(() => {
    let status: PermissionStatus | undefined;
    let isGone = false;
    const follow = async (): Promise<void> => {
      const found = await navigator.permissions?.query({ name: "notifications" });
      if (isGone) return;
      status = found;
      status?.addEventListener("change", read);
    };
    // A browser without the query tells when the user comes back from its settings.
    follow().catch(() => undefined);
    document.addEventListener("visibilitychange", read);
    return () => {
      isGone = true;
      status?.removeEventListener("change", read);
      document.removeEventListener("visibilitychange", read);
    };
  }, [read]);
  return [permission, read];
}
