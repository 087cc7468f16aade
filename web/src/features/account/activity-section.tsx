import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { eventName } from "@/components/account/event-name";
import { t } from "@/lib/later-texts";
import type { SignedInUser } from "@/lib/session";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { toastError } from "@/ui/toast";
import { describeDevice } from "./device-name";
import { whenOf } from "./format-when";
import { FailedRow, LoadingRow } from "./load-state";
import { type AccountEvent, accountEventsQuery, EVENTS_PER_PAGE, loadAccountEvents } from "./queries";
import { Section } from "./section";

/** Number of events that are shown at first. */
const FIRST_EVENTS = 8;

/** What happened to the account, newest first, so that users notice what they did not do. */
export function ActivitySection({ user }: { user: SignedInUser }) {
  const query = accountEventsQuery(user.id);
  const { data: first, error } = useQuery(query);
  const [older, setOlder] = useState<readonly AccountEvent[]>([]);
  const [isWhole, setWhole] = useState(false);
  const events = [...(first ?? []), ...older];
  const last = events.length > 0 && events.length % EVENTS_PER_PAGE === 0 ? events.at(-1) : undefined;
  const more = useMutation({
    mutationFn: async () => {
      if (isWhole && last !== undefined) setOlder([...older, ...(await loadAccountEvents(last.id))]);
      setWhole(true);
    },
    onError: toastError,
  });
  const hasMore = isWhole ? last !== undefined : events.length > FIRST_EVENTS;
  return (
    <Section
      title={t("account.activity")}
      about={t("account.activity.about")}
      foot={
        hasMore && (
          <div className="justify-self-start">
            <Button size="sm" busy={more.isPending} disabled={more.isPending} onClick={() => more.mutate()}>
              {t("account.calls.more")}
            </Button>
          </div>
        )
      }
    >
      {first === undefined && (error ? <FailedRow queryKey={query.queryKey} /> : <LoadingRow />)}
      {first?.length === 0 && <p className="px-4 py-3 text-md text-ink-2">{t("account.activity.none")}</p>}
      {events.length > 0 && (
        <ul className="divide-y divide-line">
          {(isWhole ? events : events.slice(0, FIRST_EVENTS)).map((event) => (
            <EventRow key={event.id} event={event} />
          ))}
        </ul>
      )}
    </Section>
  );
}

function EventRow({ event }: { event: AccountEvent }) {
  const { browser, system } = describeDevice(event.userAgent);
  const device = [browser, system].filter((part) => part !== undefined).join(", ");
  const details = [whenOf(event.createdAt), device, event.clientAddress ?? ""].filter((part) => part !== "");
  return (
    <li className="flex items-start gap-3 px-4 py-2.5 text-md">
      <div className="min-w-0 flex-1">
        <p className="wrap-anywhere">{eventName(event.kind)}</p>
        <p className="text-sm text-ink-2 tabular-nums wrap-anywhere">{details.join(" · ")}</p>
      </div>
      {event.actor === "admin" && <Badge tone="neutral">{t("account.activity.byAdmin")}</Badge>}
    </li>
  );
}
