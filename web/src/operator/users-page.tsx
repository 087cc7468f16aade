import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, Search, UserPlus } from "lucide-react";
import { useState } from "react";
import { Link } from "wouter";
import { useDebounced } from "@/lib/use-debounced";
import { Badge, type Tone } from "@/ui/badge";
import { Button, IconButton } from "@/ui/button";
import { Card } from "@/ui/card";
import { Input } from "@/ui/field";
import { type AccountState, type UserSummary, USERS_PER_PAGE, usersQuery } from "./api";
import { InviteSheet } from "./invite-sheet";
import { Loaded, PageHead, whenOrNever } from "./parts";
import { t } from "./t";

/** Pause in typing after which the search begins. */
const SEARCH_DEBOUNCE_MS = 250;

/** All users, with a search. */
export function UsersPage() {
  const [typed, setTyped] = useState("");
  const [page, setPage] = useState(0);
  const [isInviting, setInviting] = useState(false);
  const search = useDebounced(typed.trim(), SEARCH_DEBOUNCE_MS);
  const query = useQuery({ ...usersQuery(search, page), placeholderData: keepPreviousData });
  return (
    <>
      <PageHead title={t("operator.users")}>
        <label className="relative min-w-0 flex-1 basis-56 wide:max-w-80">
          <span className="sr-only">{t("operator.users.search")}</span>
          <Search
            aria-hidden="true"
            className="pointer-events-none absolute top-1/2 left-3 size-4 -translate-y-1/2 text-ink-2"
          />
          <Input
            type="search"
            value={typed}
            placeholder={t("operator.users.placeholder")}
            className="pl-9"
            onChange={(event) => {
              setTyped(event.target.value);
              setPage(0);
            }}
          />
        </label>
        <Button variant="primary" onClick={() => setInviting(true)}>
          <UserPlus aria-hidden="true" />
          {t("operator.invite")}
        </Button>
      </PageHead>
      <Card aria-label={t("operator.users")} className="overflow-hidden">
        <p role="status" className="px-5 py-3 text-sm text-ink-2 tabular-nums max-wide:px-4">
          {query.data && countOf(query.data.total, search)}
        </p>
        <Loaded query={query}>
          {({ users, total }) =>
            total === 0 ? (
              <p className="border-t border-line px-5 py-8 text-center text-md text-ink-2">
                {t(search === "" ? "operator.users.empty" : "operator.users.notFound")}
              </p>
            ) : (
              <>
                <ul className="divide-y divide-line border-t border-line">
                  {users.map((user) => (
                    <UserRow key={user.id} user={user} />
                  ))}
                </ul>
                {total > USERS_PER_PAGE && <Pages page={page} total={total} onSelect={setPage} />}
              </>
            )
          }
        </Loaded>
      </Card>
      {isInviting && <InviteSheet onClose={() => setInviting(false)} />}
    </>
  );
}

function countOf(total: number, search: string): string {
  return search === "" ? t("operator.users.count", { n: total }) : t("operator.users.found", { n: total });
}

function UserRow({ user }: { user: UserSummary }) {
  return (
    <li className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-4 gap-y-0.5 px-5 py-3 hover:bg-sunken max-wide:px-4 max-wide:pt-1 wide:grid-cols-[minmax(0,1fr)_7rem_13rem_13rem]">
      {/* The whole row is its area. */}
      <Link
        href={`/users/${user.id}`}
        className="rounded-sm text-md font-medium wrap-anywhere after:absolute after:inset-0 touch:py-3 max-wide:col-span-2"
      >
        {nameOfUser(user)}
      </Link>
      <span className="max-wide:order-last">
        <StateBadge state={user.state} />
      </span>
      <span className="text-sm text-ink-2 tabular-nums">
        {t("operator.users.signedIn", { when: whenOrNever(user.lastSignInAt) })}
      </span>
      <span className="text-sm text-ink-2 tabular-nums max-wide:hidden">
        {t("operator.users.created", { when: whenOrNever(user.createdAt) })}
      </span>
    </li>
  );
}

/** Returns the address of a user, who may have none. */
export function nameOfUser({ email }: { email: string | null }): string {
  return email ?? t("operator.users.anonymous");
}

const tones: Record<AccountState, Tone> = {
  active: "ok",
  anonymous: "neutral",
  deleted: "neutral",
  invited: "warn",
  locked: "err",
  unconfirmed: "warn",
};

export function StateBadge({ state }: { state: AccountState }) {
  return <Badge tone={tones[state]}>{t(`operator.state.${state}`)}</Badge>;
}

interface PagesProps {
  page: number;
  total: number;
  onSelect: (page: number) => void;
}

function Pages({ page, total, onSelect }: PagesProps) {
  const from = page * USERS_PER_PAGE + 1;
  const to = Math.min(total, from + USERS_PER_PAGE - 1);
  return (
    <nav
      aria-label={t("operator.users.pages")}
      className="flex items-center justify-end gap-2 border-t border-line px-5 py-2.5 max-wide:px-4"
    >
      <span className="flex-1 text-sm text-ink-2 tabular-nums">
        {t("operator.users.page", { from, to, total })}
      </span>
      <IconButton
        label={t("operator.users.previous")}
        icon={<ChevronLeft />}
        variant="line"
        size="sm"
        disabled={page === 0}
        onClick={() => onSelect(page - 1)}
      />
      <IconButton
        label={t("operator.users.next")}
        icon={<ChevronRight />}
        variant="line"
        size="sm"
        disabled={to >= total}
        onClick={() => onSelect(page + 1)}
      />
    </nav>
  );
}
