import type { ReactNode } from "react";
import type { Connection } from "@/lib/connection";
import { formatDuration } from "@/lib/format";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { Section } from "./section";
import { formatMoment } from "../status";

/** Details of a server and its protocol. */
export function Facts({ connection }: { connection: Connection }) {
  const { server, transport, protocolVersion, era, latencyMs, checkedAt, listedAt, lastError } = connection;
  const protocol = [protocolVersion, era && t(`servers.era.${era}`)].filter(Boolean).join(" · ");
  return (
    <Section title={t("servers.facts")}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1.5 px-4 py-3 text-sm">
        {server && (
          <Fact name={t("servers.facts.server")}>{showInvisible(`${server.name} ${server.version}`)}</Fact>
        )}
        {protocol !== "" && <Fact name={t("servers.facts.protocol")}>{protocol}</Fact>}
        {transport && <Fact name={t("servers.facts.transport")}>{transport}</Fact>}
        {typeof latencyMs === "number" && (
          <Fact name={t("servers.facts.latency")}>{formatDuration(latencyMs)}</Fact>
        )}
        {checkedAt && <Fact name={t("servers.facts.checked")}>{formatMoment(checkedAt)}</Fact>}
        {listedAt && <Fact name={t("servers.facts.listed")}>{formatMoment(listedAt)}</Fact>}
        <Fact name={t("servers.facts.lastError")}>
          {lastError
            ? t("servers.facts.lastError.value", {
                time: formatMoment(lastError.at),
                reason: lastError.reason,
              })
            : t("servers.facts.lastError.none")}
        </Fact>
      </dl>
    </Section>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-ink-2">{name}</dt>
      <dd className="min-w-0 tabular-nums wrap-anywhere">{children}</dd>
    </>
  );
}
