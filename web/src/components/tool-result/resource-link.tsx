import { useMutation } from "@tanstack/react-query";
import { use, useState } from "react";
import { formatSize } from "@/components/files/file-ref";
import { callApi, jsonBody } from "@/lib/api-client";
import type { Connection } from "@/lib/connection";
import { isObject, type JsonObject } from "@/lib/json";
import { t } from "@/lib/later-texts";
import { parseUrl } from "@/lib/safe-url";
import { showInvisible } from "@/lib/show-invisible";
import { Button, buttonClass } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import { EmbeddedResource } from "./embedded-resource";
import { ResultServer } from "./tool-output";

const asText = (value: unknown): string => (typeof value === "string" ? value : "");

/** Resource that a result links to, read through its server on request. */
export function ResourceLink({ link }: { link: JsonObject }) {
  const serverName = use(ResultServer);
  const uri = asText(link["uri"]);
  const name = asText(link["title"]) || asText(link["name"]) || uri;
  const details = [asText(link["mimeType"]), sizeOf(link["size"])].filter(Boolean).join(" · ");
  const reading = useMutation({ mutationFn: () => readResource(serverName, uri) });
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1.5 rounded-[8px] border border-line px-3 py-2.5 text-sm">
      <p className="font-medium wrap-anywhere">{showInvisible(name)}</p>
      {asText(link["description"]) !== "" && (
        <p className="wrap-anywhere text-ink-2">{showInvisible(asText(link["description"]))}</p>
      )}
      <p className="font-mono text-xs wrap-anywhere text-ink-2">{showInvisible(uri)}</p>
      {details !== "" && <p className="text-xs text-ink-2">{details}</p>}
      <div className="flex flex-wrap items-center gap-2">
        {serverName !== "" && reading.status !== "success" && (
          <Button
            size="sm"
            busy={reading.isPending}
            disabled={reading.isPending}
            onClick={() => reading.mutate()}
          >
            {t("result.read", { server: serverName })}
          </Button>
        )}
        <OutsideLink address={uri} />
      </div>
      <ErrorMessage error={reading.error} />
      {reading.status === "success" &&
        reading.data.map((resource, index) => (
          // Content that was read never changes.
          <EmbeddedResource key={index} resource={resource} />
        ))}
    </div>
  );
}

/** Link to another site, which shows its target. */
function OutsideLink({ address }: { address: string }) {
  const [asked, setAsked] = useState(false);
  const url = parseUrl(address);
  if (url?.protocol !== "https:") return null;
  if (!asked) {
    return (
      <Button size="sm" variant="quiet" onClick={() => setAsked(true)}>
        {t("result.outside")}
      </Button>
    );
  }
  const [before, after] = url.href.split(url.host, 2);
  return (
    <div className="grid w-full grid-cols-[minmax(0,1fr)] gap-2 rounded-[8px] bg-warn-soft px-3 py-2.5">
      <p className="wrap-anywhere">{t("result.outside.about")}</p>
      <p className="font-mono text-xs wrap-anywhere">
        {before}
        <b>{url.host}</b>
        {after}
      </p>
      {url.host.includes("xn--") && <p className="text-warn">{t("result.outside.foreignLetters")}</p>}
      <div className="flex flex-wrap gap-2">
        <a
          href={url.href}
          target="_blank"
          rel="noopener noreferrer"
          className={buttonClass({ size: "sm" })}
          onClick={() => setAsked(false)}
        >
          {t("result.outside.open")}
        </a>
        <Button size="sm" variant="quiet" onClick={() => setAsked(false)}>
          {t("result.cancel")}
        </Button>
      </div>
    </div>
  );
}

async function readResource(serverName: string, uri: string): Promise<readonly JsonObject[]> {
  const { connections } = await callApi<{ connections: Connection[] }>("/api/connections");
  const connection = connections.find(({ name }) => name === serverName);
  if (connection === undefined) throw new Error(t("result.noConnection", { server: serverName }));
  const path = `/api/connections/${encodeURIComponent(connection.id)}/resources/read`;
  const { contents } = await callApi<{ contents: unknown[] }>(path, jsonBody({ uri }));
  return contents.filter(isObject);
}

function sizeOf(bytes: unknown): string {
  return typeof bytes === "number" ? formatSize(bytes) : "";
}
