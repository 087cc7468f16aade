import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Link } from "wouter";
import { eventKinds, eventName } from "@/components/account/event-name";
import { describeDevice } from "@/features/account/device-name";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { Field, Select, TextField } from "@/ui/field";
import { Form } from "@/ui/form";
import { type AuditEvent, loadAuditEvents } from "./api";
import { Loaded, PageHead, timeOf } from "./parts";
import { t } from "./t";

/** Kinds of events that no user sees. */
const operatorKinds = [
  "account_deleted",
  "backup_created",
  "backup_restored",
  "keys_replaced",
  "registration_token_created",
  "registration_token_revoked",
  "shared_server_offered",
  "shared_server_withdrawn",
] as const;
const allKinds = [...eventKinds, ...operatorKinds] as const;

/** What happened to the accounts, newest first. */
export function AuditLogPage({ user }: { user: string }) {
  const [typed, setTyped] = useState(user);
  const [filter, setFilter] = useState({ user, kind: "" });
  const query = useInfiniteQuery({
    queryKey: ["audit-events", filter],
    queryFn: ({ pageParam }) => loadAuditEvents(filter.user, filter.kind, pageParam),
    initialPageParam: "",
    getNextPageParam: ({ events, hasMore }) => (hasMore ? events.at(-1)?.id : undefined),
    staleTime: 0,
  });
  const pages = query.data?.pages;
  return (
    <>
      <PageHead title={t("operator.audit")} />
      <Form
        className="mb-4 flex flex-wrap items-end gap-2"
        busy={false}
        onSend={() => setFilter({ ...filter, user: typed.trim() })}
      >
        <TextField
          label={t("operator.audit.user")}
          placeholder={t("operator.users.placeholder")}
          autoComplete="off"
          spellCheck={false}
          className="min-w-0 flex-1 basis-56 wide:max-w-80"
          value={typed}
          onChange={setTyped}
        />
        <Field label={t("operator.audit.kind")} className="min-w-0 flex-1 basis-48 wide:max-w-64">
          {(ids) => (
            <Select
              {...ids}
              value={filter.kind}
              onChange={(event) => setFilter({ user: typed.trim(), kind: event.target.value })}
            >
              <option value="">{t("operator.audit.allKinds")}</option>
              {allKinds
                .map((kind) => ({ kind, name: nameOfEvent(kind) }))
                .sort((one, other) => one.name.localeCompare(other.name))
                .map(({ kind, name }) => (
                  <option key={kind} value={kind}>
                    {name}
                  </option>
                ))}
            </Select>
          )}
        </Field>
        <Button type="submit" className="h-10">
          {t("operator.audit.filter")}
        </Button>
      </Form>
      <Card aria-label={t("operator.audit")} className="overflow-hidden pt-1">
        <Loaded query={{ ...query, data: pages }}>
          {(loaded) =>
            loaded[0]?.events.length === 0 ? (
              <p className="px-5 py-8 text-center text-md text-ink-2">{t("operator.audit.none")}</p>
            ) : (
              <ul className="divide-y divide-line">
                {loaded.flatMap(({ events }) =>
                  events.map((event) => <EventRow key={event.id} event={event} />),
                )}
              </ul>
            )
          }
        </Loaded>
      </Card>
      {query.hasNextPage && (
        <p className="py-4 text-center">
          <Button
            busy={query.isFetchingNextPage}
            disabled={query.isFetchingNextPage}
            onClick={() => void query.fetchNextPage()}
          >
            {t("operator.more")}
          </Button>
        </p>
      )}
    </>
  );
}

function EventRow({ event }: { event: AuditEvent }) {
  const { browser, system } = describeDevice(event.userAgent);
  const details = [browser, system, event.clientAddress ?? undefined].filter((part) => part !== undefined);
  return (
    <li className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-4 gap-y-0.5 px-5 py-2.5 text-md max-wide:px-4 wide:grid-cols-[13rem_minmax(0,1fr)_minmax(0,1fr)]">
      <p className="flex flex-wrap items-center gap-x-2 gap-y-1 wrap-anywhere">
        {nameOfEvent(event.kind)}
        {event.actor !== "user" && (
          <Badge>{t(event.actor === "admin" ? "operator.audit.byAdmin" : "operator.audit.bySystem")}</Badge>
        )}
      </p>
      <p className="min-w-0 text-sm wrap-anywhere max-wide:order-last max-wide:col-span-2">
        <Account event={event} />
      </p>
      <p className="text-right text-sm text-ink-2 tabular-nums">
        <time dateTime={event.createdAt}>{timeOf(event.createdAt)}</time>
        {details.length > 0 && <span className="max-wide:hidden">{` · ${details.join(", ")}`}</span>}
      </p>
    </li>
  );
}

function Account({ event: { kind, user, email } }: { event: AuditEvent }) {
  // Events that only the operator sees are about the installation.
  if (user === null && operatorKinds.some((other) => other === kind)) return null;
  if (user === null) return <span className="text-ink-2">{t("operator.audit.unknownUser")}</span>;
  // Only accounts that still exist have a page.
  if (email === null) return <code className="font-mono">{user}</code>;
  return (
    <Link href={`/users/${user}`} className="rounded-sm hover:underline touch:inline-block touch:py-3">
      {email}
    </Link>
  );
}

function nameOfEvent(kind: string): string {
  const known = operatorKinds.find((other) => other === kind);
  return known === undefined ? eventName(kind) : t(`operator.audit.${known}`);
}
