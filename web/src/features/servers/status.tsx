import { quoted } from "@/lib/error-text";
import { formatDate } from "@/lib/intl";
import { t, tRich } from "@/lib/later-texts";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { isKnownStatus, type ServerConnection, statusTone } from "./server-connection";
import { useReconnect } from "./use-connections";

/** Formats a past or future time: today only the time of day, else with the date. */
export function formatMoment(moment: string, now = new Date()): string {
  const date = new Date(moment);
  const isToday = date.toDateString() === now.toDateString();
  return formatDate(date, isToday ? { timeStyle: "medium" } : { dateStyle: "medium", timeStyle: "short" });
}

interface StatusBadgeProps {
  status: string;
  className?: string;
}

/** Status of a connection in words and its color. One that this page does not know is shown as it is stored. */
export function StatusBadge({ status, className }: StatusBadgeProps) {
  return (
    <Badge tone={statusTone(status)} {...(className !== undefined && { className })}>
      {isKnownStatus(status) ? t(`servers.status.${status}`) : status}
    </Badge>
  );
}

interface TroubleProps {
  userId: string;
  connection: ServerConnection;
  reason: string;
  /** Omits the button, where there is another one. */
  bare?: boolean;
}

/** Reason why a connection cannot be used, with a retry button. */
export function Trouble({ userId, connection, reason, bare = false }: TroubleProps) {
  const { id, name, nextTryAt, listedAt, tools, usesFallback } = connection;
  const reconnect = useReconnect(userId, id);
  return (
    <div className="grid justify-items-start gap-1 text-sm text-ink-2">
      <p className="text-err wrap-anywhere">{tRich("servers.trouble", { reason, q: quoted })}</p>
      {nextTryAt !== undefined && <p>{t("servers.nextTry", { time: formatMoment(nextTryAt) })}</p>}
      {listedAt !== undefined && tools.length > 0 && !usesFallback && (
        <p>{t("servers.lastListed", { n: tools.length, time: formatMoment(listedAt) })}</p>
      )}
      {!bare && (
        <Button
          size="sm"
          className="mt-1"
          aria-label={t("servers.retry", { name })}
          busy={reconnect.isPending}
          disabled={reconnect.isPending}
          onClick={() => reconnect.mutate()}
        >
          {t("servers.reconnect")}
        </Button>
      )}
    </div>
  );
}
