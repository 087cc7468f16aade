import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { formatList } from "@/lib/intl";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { ConfirmButton } from "@/ui/confirm-button";
import { ErrorMessage } from "@/ui/error-message";
import { Field, TextField, Textarea } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { Sheet } from "@/ui/sheet";
import { toast, toastError } from "@/ui/toast";
import { callOperator, type SharedServer, sharedServersQuery } from "./api";
import { Loaded, PageHead } from "./parts";
import { t } from "./t";

/** MCP servers that the operator offers to users. */
export function SharedServersPage() {
  const query = useQuery(sharedServersQuery);
  const [isOffering, setOffering] = useState(false);
  return (
    <>
      <PageHead title={t("operator.servers")} about={t("operator.servers.about")}>
        <Button variant="primary" onClick={() => setOffering(true)}>
          <Plus aria-hidden="true" />
          {t("operator.servers.offer")}
        </Button>
      </PageHead>
      <Card aria-label={t("operator.servers")} className="overflow-hidden">
        <Loaded query={query}>
          {(servers) =>
            servers.length === 0 ? (
              <p className="px-5 py-8 text-center text-md text-ink-2">{t("operator.servers.none")}</p>
            ) : (
              <ul className="divide-y divide-line">
                {servers.map((server) => (
                  <ServerRow key={server.id} server={server} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Card>
      {isOffering && <OfferSheet onClose={() => setOffering(false)} />}
    </>
  );
}

function ServerRow({ server }: { server: SharedServer }) {
  const client = useQueryClient();
  const { id, name, url, description, hasHeaders, domains, groups } = server;
  const withdraw = useMutation({
    mutationFn: () => callOperator(`/shared-servers/${id}`, "DELETE"),
    onSuccess: async () => {
      await client.invalidateQueries(sharedServersQuery);
      toast({ title: t("operator.servers.withdrawn", { name }), tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <li className="flex items-start gap-3 py-3 pr-3 pl-5 max-wide:pl-4">
      <div className="grid min-w-0 flex-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-md font-medium wrap-anywhere">
          {name}
          {hasHeaders && <Badge>{t("operator.servers.withHeaders")}</Badge>}
        </p>
        <p className="font-mono text-sm wrap-anywhere text-ink-2">{url}</p>
        {description !== "" && <p className="text-sm wrap-anywhere">{description}</p>}
        <p className="text-sm wrap-anywhere text-ink-2">
          {domains.length + groups.length === 0
            ? t("operator.servers.forAll")
            : t("operator.servers.forSome", {
                names: formatList([
                  ...domains,
                  ...groups.map((group) => t("operator.servers.group", { name: group })),
                ]),
              })}
        </p>
      </div>
      <ConfirmButton
        trigger={<Trash2 aria-hidden="true" />}
        label={t("operator.servers.withdraw", { name })}
        question={t("operator.servers.withdraw.question", { name })}
        confirm={t("operator.servers.withdraw.confirm")}
        onConfirm={() => withdraw.mutate()}
      />
    </li>
  );
}

function OfferSheet({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [description, setDescription] = useState("");
  const [headers, setHeaders] = useState("");
  const [domains, setDomains] = useState("");
  const [groups, setGroups] = useState("");
  const offer = useMutation({
    mutationFn: () => {
      const parsed = parseHeaders(headers);
      if (parsed === undefined) throw new Error(t("operator.servers.headers.invalid"));
      return callOperator("/shared-servers", "POST", {
        name,
        url,
        description,
        headers: parsed,
        domains: domains.split(/[\s,]+/u).filter((domain) => domain !== ""),
        // A name of a group can have spaces.
        groups: groups
          .split(",")
          .map((group) => group.trim())
          .filter((group) => group !== ""),
      });
    },
    onSuccess: async () => {
      await client.invalidateQueries(sharedServersQuery);
      toast({ title: t("operator.servers.offered"), description: name.trim(), tone: "ok" });
      onClose();
    },
  });
  return (
    <Sheet title={t("operator.servers.offer")} subtitle={t("operator.servers.replaces")} onClose={onClose}>
      <Form className="grid gap-[18px]" busy={offer.isPending} onSend={() => offer.mutate()}>
        <TextField
          label={t("operator.servers.name")}
          autoComplete="off"
          required
          value={name}
          onChange={setName}
        />
        <TextField
          label={t("operator.servers.url")}
          hint={t("operator.servers.url.hint")}
          type="url"
          autoComplete="off"
          required
          value={url}
          onChange={setUrl}
        />
        <TextField
          label={t("operator.servers.description")}
          maxLength={500}
          autoComplete="off"
          value={description}
          onChange={setDescription}
        />
        <Field label={t("operator.servers.headers")} hint={t("operator.servers.headers.hint")}>
          {(ids) => (
            <Textarea
              {...ids}
              spellCheck={false}
              autoComplete="off"
              className="min-h-20 font-mono text-sm"
              value={headers}
              onChange={(event) => setHeaders(event.target.value)}
            />
          )}
        </Field>
        <TextField
          label={t("operator.servers.domains")}
          hint={t("operator.servers.domains.hint")}
          autoComplete="off"
          value={domains}
          onChange={setDomains}
        />
        <TextField
          label={t("operator.servers.groups")}
          hint={t("operator.servers.groups.hint")}
          autoComplete="off"
          value={groups}
          onChange={setGroups}
        />
        <ErrorMessage error={offer.error} />
        <SubmitButton busy={offer.isPending} className="justify-self-start">
          {t("operator.servers.submit")}
        </SubmitButton>
      </Form>
    </Sheet>
  );
}

/** Parses a header from each line; undefined if a line has no colon. */
function parseHeaders(text: string): Record<string, string> | undefined {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.some((line) => !line.includes(":"))) return undefined;
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    }),
  );
}
