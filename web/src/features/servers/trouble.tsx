import { t, tRich } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { quoted } from "@/ui/quoted";
import { formatMoment } from "./moment";
import type { ServerConnection } from "./server-connection";
import { useReconnect } from "./use-connections";

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
