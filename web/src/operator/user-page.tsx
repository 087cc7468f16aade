import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ArrowLeft, KeyRound, Monitor, ScrollText, ShieldCheck, Smartphone, Trash2 } from "lucide-react";
import { useState } from "react";
import { Link, useLocation } from "wouter";
import { describeDevice } from "@/features/account/device-name";
import { whenOf } from "@/features/account/format-when";
import { formatBytes } from "@/lib/format-bytes";
import { formatList } from "@/lib/intl";
import { Badge } from "@/ui/badge";
import { Button, buttonClass } from "@/ui/button";
import { ConfirmButton } from "@/ui/confirm-button";
import { ErrorMessage } from "@/ui/error-message";
import { Field, Select, TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { Sheet } from "@/ui/sheet";
import { toast, toastError } from "@/ui/toast";
import { callOperator, type Credential, type UserDetails, userPath, userQuery } from "./api";
import { Empty, Facts, Loaded, PageHead, Panel, timeOf } from "./parts";
import { QuotasPanel } from "./quotas-panel";
import { t } from "./t";
import { nameOfUser, StateBadge } from "./users-page";

/** A user with all that the operator manages. */
export function UserPage({ id }: { id: string }) {
  const query = useQuery(userQuery(id));
  return (
    <>
      <Link
        href="/users"
        className="mb-3 inline-flex items-center gap-1.5 rounded-sm text-sm text-ink-2 hover:text-ink touch:min-h-11"
      >
        <ArrowLeft aria-hidden="true" className="size-4" />
        {t("operator.user.back")}
      </Link>
      <Loaded query={query}>{(user) => <UserContent user={user} />}</Loaded>
    </>
  );
}

function UserContent({ user }: { user: UserDetails }) {
  return (
    <>
      <PageHead title={nameOfUser(user)}>
        <StateBadge state={user.state} />
        <Link href={`/audit-log/${user.id}`} className={buttonClass({ size: "sm" })}>
          <ScrollText aria-hidden="true" />
          {t("operator.user.events")}
        </Link>
      </PageHead>
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5 min-[961px]:grid-cols-2">
        <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-5">
          <DetailsPanel user={user} />
          <AccessPanel user={user} />
        </div>
        <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-5">
          <QuotasPanel user={user.id} />
          <CredentialsPanel user={user} />
          <DevicesPanel user={user} />
        </div>
      </div>
    </>
  );
}

function DetailsPanel({ user }: { user: UserDetails }) {
  const never = t("operator.never");
  const time = (moment: string | null) => (moment === null ? never : timeOf(moment));
  return (
    <Panel title={t("operator.user.details")}>
      <Facts
        facts={[
          [
            t("operator.user.id"),
            <code key="id" className="font-mono text-sm">
              {user.id}
            </code>,
          ],
          [t("operator.user.created"), time(user.createdAt)],
          user.invitedAt === null ? undefined : [t("operator.user.invited"), time(user.invitedAt)],
          [t("operator.user.confirmed"), time(user.emailConfirmedAt)],
          [t("operator.user.lastSignIn"), time(user.lastSignInAt)],
          user.lockedUntil === null ? undefined : [t("operator.user.lockedUntil"), time(user.lockedUntil)],
          [t("operator.user.password"), t(user.hasPassword ? "operator.yes" : "operator.no")],
          user.providers.length === 0
            ? undefined
            : [t("operator.user.providers"), formatList(user.providers)],
          [t("operator.user.files"), formatBytes(user.storedBytes)],
        ]}
      />
    </Panel>
  );
}

/** Returns a function that renews what is shown of a user. */
function useRefresh(user: { id: string }): () => Promise<unknown> {
  const client = useQueryClient();
  return () =>
    Promise.all([
      client.invalidateQueries({ queryKey: ["user", user.id] }),
      client.invalidateQueries({ queryKey: ["users"] }),
    ]);
}

/** Durations of a lock, as the server reads them; the last one has no end. */
const durations = ["1h", "24h", "168h", "720h", "forever"] as const;

function AccessPanel({ user }: { user: UserDetails }) {
  const [duration, setDuration] = useState<(typeof durations)[number]>("24h");
  const [isDeleting, setDeleting] = useState(false);
  const refresh = useRefresh(user);
  const isLocked = user.state === "locked";
  const act = (title: string, path: string, body: object = {}) => ({
    mutationFn: () => callOperator(`${userPath(user.id)}/${path}`, "POST", body),
    onSuccess: async () => {
      await refresh();
      toast({ title, description: nameOfUser(user), tone: "ok" as const });
    },
    onError: toastError,
  });
  const lock = useMutation(
    act(t("operator.user.locked"), "lock", duration === "forever" ? {} : { duration }),
  );
  const unlock = useMutation(act(t("operator.user.unlocked"), "unlock"));
  const signOut = useMutation(act(t("operator.user.signedOut"), "sign-out"));
  return (
    <Panel title={t("operator.user.access")} about={t("operator.user.lock.about")}>
      <div className="grid gap-4 px-5 pb-5 max-wide:px-4">
        {isLocked ? (
          <Button
            className="justify-self-start"
            busy={unlock.isPending}
            disabled={unlock.isPending}
            onClick={() => unlock.mutate()}
          >
            {t("operator.user.unlock")}
          </Button>
        ) : (
          <Form className="flex flex-wrap items-end gap-2" busy={lock.isPending} onSend={() => lock.mutate()}>
            <Field label={t("operator.user.lockFor")} className="min-w-40 flex-1">
              {(ids) => (
                <Select
                  {...ids}
                  value={duration}
                  onChange={(event) => setDuration(event.target.value as typeof duration)}
                >
                  {durations.map((one) => (
                    <option key={one} value={one}>
                      {t(`operator.user.lock.${one}`)}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
            <Button type="submit" className="h-10" busy={lock.isPending} disabled={lock.isPending}>
              {t("operator.user.lock")}
            </Button>
          </Form>
        )}
        <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
          <ConfirmButton
            trigger={t("operator.user.signOut")}
            outlined
            question={t("operator.user.signOut.question")}
            confirm={t("operator.user.signOut")}
            onConfirm={() => signOut.mutate()}
          />
          <Button variant="danger" size="sm" onClick={() => setDeleting(true)}>
            {t("operator.user.delete")}
          </Button>
        </div>
      </div>
      {isDeleting && <DeleteSheet user={user} onClose={() => setDeleting(false)} />}
    </Panel>
  );
}

function DeleteSheet({ user, onClose }: { user: UserDetails; onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [, navigate] = useLocation();
  const client = useQueryClient();
  const name = user.email ?? user.id;
  const remove = useMutation({
    mutationFn: () => callOperator(`${userPath(user.id)}/delete`, "POST", { confirmation: typed }),
    onSuccess: () => {
      client.removeQueries({ queryKey: ["user", user.id] });
      void client.invalidateQueries({ queryKey: ["users"] });
      toast({ title: t("operator.user.deleted"), description: name, tone: "ok" });
      navigate("/users");
    },
  });
  return (
    <Sheet title={t("operator.user.delete")} subtitle={t("operator.user.delete.about")} onClose={onClose}>
      <Form className="grid gap-[18px]" busy={remove.isPending} onSend={() => remove.mutate()}>
        <TextField
          label={t("operator.user.delete.confirm", { name })}
          autoComplete="off"
          spellCheck={false}
          required
          value={typed}
          onChange={setTyped}
        />
        <ErrorMessage error={remove.error} />
        <div className="flex flex-wrap gap-2">
          <SubmitButton variant="danger" className="border-line-strong!" busy={remove.isPending}>
            {t("operator.user.delete")}
          </SubmitButton>
          <Button onClick={onClose}>{t("operator.cancel")}</Button>
        </div>
      </Form>
    </Sheet>
  );
}

function CredentialsPanel({ user }: { user: UserDetails }) {
  const isEmpty = user.factors.length + user.passkeys.length === 0;
  return (
    <Panel title={t("operator.user.factors")}>
      {isEmpty ? (
        <Empty>{t("operator.user.factors.none")}</Empty>
      ) : (
        <ul className="divide-y divide-line border-t border-line">
          {[...user.factors, ...user.passkeys].map((credential) => (
            <CredentialRow key={credential.id} user={user} credential={credential} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

interface CredentialRowProps {
  user: UserDetails;
  credential: Credential;
}

function CredentialRow({ user, credential }: CredentialRowProps) {
  const refresh = useRefresh(user);
  const Icon = credential.kind === "totp" ? ShieldCheck : KeyRound;
  const path = credential.kind === "passkey" ? "passkeys" : "factors";
  const kindName = t(`operator.user.credential.${credential.kind}`);
  const name = credential.name === "" ? kindName : credential.name;
  const remove = useMutation({
    mutationFn: () => callOperator(`${userPath(user.id)}/${path}/${credential.id}`, "DELETE"),
    onSuccess: async () => {
      await refresh();
      toast({ title: t("operator.user.factor.deleted", { name }), tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <li className="flex items-center gap-3 py-2.5 pr-3 pl-5 max-wide:pl-4">
      <Icon aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
      <div className="min-w-0 flex-1 text-md">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5 wrap-anywhere">
          {name}
          {!credential.isVerified && <Badge tone="warn">{t("operator.user.factor.unverified")}</Badge>}
        </p>
        <p className="text-sm text-ink-2 tabular-nums">
          {[kindName, timeOf(credential.createdAt)].join(" · ")}
        </p>
      </div>
      <ConfirmButton
        trigger={<Trash2 aria-hidden="true" />}
        label={t("operator.user.factor.delete", { name })}
        question={t("operator.user.factor.question", { name })}
        confirm={t("operator.user.factor.confirm")}
        onConfirm={() => remove.mutate()}
      />
    </li>
  );
}

function DevicesPanel({ user }: { user: UserDetails }) {
  return (
    <Panel title={t("operator.user.devices")}>
      {user.devices.length === 0 ? (
        <Empty>{t("operator.user.devices.none")}</Empty>
      ) : (
        <ul className="divide-y divide-line border-t border-line">
          {user.devices.map(({ userAgent, usedAt }, index) => {
            const { browser, system, mobile } = describeDevice(userAgent);
            const Icon = mobile ? Smartphone : Monitor;
            const name = [browser, system].filter((part) => part !== undefined).join(", ");
            return (
              <li key={index} className="flex items-center gap-3 px-5 py-2.5 max-wide:px-4">
                <Icon aria-hidden="true" className="size-4 shrink-0 text-ink-2" />
                <p className="min-w-0 flex-1 text-md">{name || t("operator.user.devices.unknown")}</p>
                <p className="text-sm text-ink-2 tabular-nums">
                  {t("operator.user.devices.used", { when: whenOf(usedAt) })}
                </p>
              </li>
            );
          })}
        </ul>
      )}
    </Panel>
  );
}
