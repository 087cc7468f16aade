import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { formatBytes } from "@/lib/format-bytes";
import { formatList } from "@/lib/intl";
import { cn } from "@/lib/cn";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import { TextField } from "@/ui/field";
import { Form } from "@/ui/form";
import { toast } from "@/ui/toast";
import {
  type BackupStatus,
  backupsQuery,
  callOperator,
  type Diagnostics,
  type Finding,
  type ServerInfo,
  serverQuery,
} from "./api";
import { Empty, Facts, Loaded, PageHead, Panel, timeOf } from "./parts";
import { t } from "./t";

/** The server: what it is, who may sign up, and whether all is well. */
export function SystemPage() {
  return (
    <>
      <PageHead title={t("operator.system")} />
      <div className="grid grid-cols-[minmax(0,1fr)] gap-5 min-[961px]:grid-cols-2">
        <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-5">
          <ServerPanel />
          <SignUpPanel />
        </div>
        <div className="grid grid-cols-[minmax(0,1fr)] content-start gap-5">
          <DiagnosticsPanel />
          <MailPanel />
          <BackupsPanel />
        </div>
      </div>
    </>
  );
}

function ServerPanel() {
  const query = useQuery(serverQuery);
  return (
    <Panel title={t("operator.system.server")}>
      <Loaded query={query}>
        {({ version, siteUrl, database }) => (
          <Facts
            facts={[
              [t("operator.system.version"), version],
              [t("operator.system.address"), siteUrl],
              [t("operator.system.database"), database],
            ]}
          />
        )}
      </Loaded>
    </Panel>
  );
}

function SignUpPanel() {
  const query = useQuery(serverQuery);
  return (
    <Panel title={t("operator.signUps")} about={t("operator.signUps.about")}>
      <Loaded query={query}>{({ signUps }) => <SignUpFacts policy={signUps} />}</Loaded>
    </Panel>
  );
}

function SignUpFacts({ policy }: { policy: ServerInfo["signUps"] }) {
  const { provider, providerOnly } = policy;
  const yesOrNo = (value: boolean) => t(value ? "operator.yes" : "operator.no");
  return (
    <Facts
      facts={[
        [t("operator.signUps.who"), whoMaySignUp(policy)],
        [t("operator.signUps.confirmation"), confirmationOf(policy)],
        [t("operator.signUps.anonymous"), yesOrNo(policy.anonymous)],
        [t("operator.signUps.passkeys"), yesOrNo(policy.hasPasskeys)],
        [
          t("operator.signUps.provider"),
          provider === null
            ? t("operator.no")
            : providerOnly
              ? t("operator.signUps.providerOnly", { name: provider })
              : provider,
        ],
      ]}
    />
  );
}

function whoMaySignUp({ mode, domains }: ServerInfo["signUps"]): string {
  if (mode !== "open") return t(`operator.signUps.${mode}`);
  return domains.length === 0
    ? t("operator.signUps.open")
    : t("operator.signUps.domains", { domains: formatList(domains) });
}

function confirmationOf({ autoconfirm, hasMail }: ServerInfo["signUps"]): string {
  if (autoconfirm) return t("operator.signUps.autoconfirm");
  return t(hasMail ? "operator.signUps.byEmail" : "operator.signUps.noMail");
}

/** Examinations take some seconds, and ask others: they are made when the operator wants them. */
function DiagnosticsPanel() {
  const examine = useMutation({ mutationFn: () => callOperator<Diagnostics>("/diagnostics") });
  const { data, isPending } = examine;
  return (
    <Panel
      title={t("operator.diagnostics")}
      about={t("operator.diagnostics.about")}
      action={
        <Button size="sm" busy={isPending} disabled={isPending} onClick={() => examine.mutate()}>
          {t(data === undefined ? "operator.diagnostics.run" : "operator.diagnostics.again")}
        </Button>
      }
    >
      <div role="status" className="px-5 pb-3 text-md empty:hidden max-wide:px-4">
        {isPending && <p className="text-ink-2">{t("operator.diagnostics.running")}</p>}
        {data !== undefined && (
          <Badge tone={data.healthy ? "ok" : "err"}>
            {t(data.healthy ? "operator.diagnostics.healthy" : "operator.diagnostics.failed")}
          </Badge>
        )}
      </div>
      <ErrorMessage error={examine.error} className="px-5 pb-4 max-wide:px-4" />
      {data !== undefined && (
        <ul className="divide-y divide-line border-t border-line">
          {data.findings.map((finding, index) => (
            <FindingRow key={index} finding={finding} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

const verdicts = {
  pass: { Icon: CircleCheck, color: "text-ok" },
  warn: { Icon: TriangleAlert, color: "text-warn" },
  fail: { Icon: CircleAlert, color: "text-err" },
} as const;

/** Finding of the server, which speaks English. */
function FindingRow({ finding: { name, verdict, message, advice } }: { finding: Finding }) {
  const { Icon, color } = verdicts[verdict];
  return (
    <li className="flex items-start gap-3 px-5 py-2.5 max-wide:px-4">
      <Icon aria-hidden="true" className={cn("mt-0.5 size-4 shrink-0", color)} />
      <div className="min-w-0 flex-1 text-md">
        <p className="flex flex-wrap gap-x-2">
          <span lang="en" className="font-medium">
            {name}
          </span>
          <span className={cn("text-sm leading-5", color)}>{t(`operator.verdict.${verdict}`)}</span>
        </p>
        <p lang="en" className="text-sm wrap-anywhere text-ink-2">
          {message}
        </p>
        {advice !== null && (
          <p lang="en" className="text-sm wrap-anywhere">
            {advice}
          </p>
        )}
      </div>
    </li>
  );
}

function MailPanel() {
  const [to, setTo] = useState("");
  const send = useMutation({
    mutationFn: () => callOperator("/test-email", "POST", { to }),
    onSuccess: () => toast({ title: t("operator.mail.sent"), description: to, tone: "ok" }),
  });
  return (
    <Panel title={t("operator.mail")} about={t("operator.mail.about")}>
      <Form className="grid gap-2 px-5 pb-5 max-wide:px-4" busy={send.isPending} onSend={() => send.mutate()}>
        <div className="flex flex-wrap items-end gap-2">
          <TextField
            label={t("operator.mail.to")}
            type="email"
            autoComplete="email"
            required
            className="min-w-0 flex-1 basis-48"
            value={to}
            onChange={setTo}
          />
          <Button type="submit" className="h-10" busy={send.isPending} disabled={send.isPending}>
            {t("operator.mail.send")}
          </Button>
        </div>
        <ErrorMessage error={send.error} />
      </Form>
    </Panel>
  );
}

function BackupsPanel() {
  const client = useQueryClient();
  const query = useQuery(backupsQuery);
  const make = useMutation({
    mutationFn: () => callOperator("/backups", "POST"),
    onSuccess: async () => {
      await client.invalidateQueries(backupsQuery);
      toast({ title: t("operator.backups.made"), tone: "ok" });
    },
  });
  const schedule = query.data;
  return (
    <Panel
      title={t("operator.backups")}
      about={
        schedule
          ? t("operator.backups.about", { time: schedule.time, folder: schedule.folder, n: schedule.keep })
          : undefined
      }
      action={
        schedule && (
          <Button size="sm" busy={make.isPending} disabled={make.isPending} onClick={() => make.mutate()}>
            {t("operator.backups.now")}
          </Button>
        )
      }
    >
      <ErrorMessage error={make.error} className="px-5 pb-4 max-wide:px-4" />
      {schedule === null ? (
        <Empty>{t("operator.backups.off")}</Empty>
      ) : (
        <Loaded query={query}>{(loaded) => <BackupList schedule={loaded} />}</Loaded>
      )}
    </Panel>
  );
}

function BackupList({ schedule: { backups } }: { schedule: BackupStatus }) {
  if (backups.length === 0) return <Empty>{t("operator.backups.none")}</Empty>;
  return (
    <ul className="divide-y divide-line border-t border-line">
      {backups.map(({ name, bytes, createdAt }) => (
        <li key={name} className="flex flex-wrap items-baseline gap-x-4 px-5 py-2.5 text-md max-wide:px-4">
          <span className="min-w-0 flex-1 basis-40 tabular-nums">{timeOf(createdAt)}</span>
          <span className="text-sm text-ink-2 tabular-nums">{formatBytes(bytes)}</span>
        </li>
      ))}
    </ul>
  );
}
