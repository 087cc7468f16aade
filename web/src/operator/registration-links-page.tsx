import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2, TriangleAlert } from "lucide-react";
import { useState } from "react";
import { Badge } from "@/ui/badge";
import { Button } from "@/ui/button";
import { Card } from "@/ui/card";
import { ConfirmButton } from "@/ui/confirm-button";
import { ErrorMessage } from "@/ui/error-message";
import { Field, Select, TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { Sheet } from "@/ui/sheet";
import { toast, toastError } from "@/ui/toast";
import { callOperator, type RegistrationToken, registrationTokensQuery, serverQuery } from "./api";
import { NewLink } from "./new-link";
import { Loaded, PageHead, timeOf } from "./parts";
import { t } from "./t";

/** Registration tokens, as links with which a limited number of users sign up. */
export function RegistrationLinksPage() {
  const query = useQuery(registrationTokensQuery);
  const { data: server } = useQuery(serverQuery);
  const [isCreating, setCreating] = useState(false);
  const mode = server?.signUps.mode ?? "invite";
  return (
    <>
      <PageHead title={t("operator.links")} about={t("operator.links.about")}>
        <Button variant="primary" disabled={mode !== "invite"} onClick={() => setCreating(true)}>
          <Plus aria-hidden="true" />
          {t("operator.links.create")}
        </Button>
      </PageHead>
      {mode !== "invite" && (
        <p className="mb-5 flex items-start gap-2.5 rounded-md bg-warn-soft px-3.5 py-3 text-md text-warn">
          <TriangleAlert aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
          {t("operator.links.noEffect", { mode })}
        </p>
      )}
      <Card aria-label={t("operator.links")} className="overflow-hidden">
        <Loaded query={query}>
          {(tokens) =>
            tokens.length === 0 ? (
              <p className="px-5 py-8 text-center text-md text-ink-2">{t("operator.links.none")}</p>
            ) : (
              <ul className="divide-y divide-line">
                {tokens.map((token) => (
                  <LinkRow key={token.id} token={token} />
                ))}
              </ul>
            )
          }
        </Loaded>
      </Card>
      {isCreating && <CreateSheet onClose={() => setCreating(false)} />}
    </>
  );
}

function LinkRow({ token }: { token: RegistrationToken }) {
  const client = useQueryClient();
  const { id, note, domain, uses, maxUses: max, state, expiresAt } = token;
  const name = note === "" ? t("operator.links.link") : note;
  const isValid = state === "valid";
  const revoke = useMutation({
    mutationFn: () => callOperator(`/registration-tokens/${id}`, "DELETE"),
    onSuccess: async () => {
      await client.invalidateQueries(registrationTokensQuery);
      toast({ title: t("operator.links.revoked"), description: name, tone: "ok" });
    },
    onError: toastError,
  });
  return (
    <li className="flex min-h-16 items-center gap-3 py-3 pr-3 pl-5 max-wide:pl-4">
      <div className="grid min-w-0 flex-1 gap-0.5">
        <p className="flex flex-wrap items-center gap-x-2 gap-y-1 text-md font-medium wrap-anywhere">
          {name}
          <Badge tone={isValid ? "ok" : "neutral"}>{t(`operator.links.state.${state}`)}</Badge>
        </p>
        <p className="text-sm wrap-anywhere text-ink-2 tabular-nums">
          {[
            t("operator.links.uses", { uses, max }),
            domain !== null && t("operator.signUps.domains", { domains: domain }),
            t("operator.links.until", { when: timeOf(expiresAt) }),
          ]
            .filter(Boolean)
            .join(" · ")}
        </p>
      </div>
      {isValid && (
        <ConfirmButton
          trigger={<Trash2 aria-hidden="true" />}
          label={t("operator.links.revoke", { name })}
          question={t("operator.links.revoke.question")}
          confirm={t("operator.links.revoke.confirm")}
          onConfirm={() => revoke.mutate()}
        />
      )}
    </li>
  );
}

function CreateSheet({ onClose }: { onClose: () => void }) {
  const [url, setUrl] = useState<string>();
  return (
    <Sheet title={t("operator.links.create")} onClose={onClose}>
      {url === undefined ? (
        <CreateForm onCreated={setUrl} />
      ) : (
        <NewLink label={t("operator.links.link")} hint={t("operator.links.linkHint")} url={url} />
      )}
    </Sheet>
  );
}

/** Lifetimes that are offered, in days. */
const lifetimes = [
  [1, "operator.user.lock.24h"],
  [7, "operator.user.lock.168h"],
  [30, "operator.user.lock.720h"],
] as const;

const SECONDS_PER_DAY = 86_400;

function CreateForm({ onCreated }: { onCreated: (url: string) => void }) {
  const client = useQueryClient();
  const [note, setNote] = useState("");
  const [maxUses, setMaxUses] = useState("1");
  const [days, setDays] = useState("7");
  const [domain, setDomain] = useState("");
  const create = useMutation({
    mutationFn: () =>
      callOperator<{ link: string }>("/registration-tokens", "POST", {
        note,
        maxUses: Number(maxUses),
        lifetimeSeconds: Number(days) * SECONDS_PER_DAY,
        domain,
      }),
    onSuccess: ({ link }) => {
      void client.invalidateQueries(registrationTokensQuery);
      onCreated(link);
    },
  });
  return (
    <Form className="grid gap-[18px]" busy={create.isPending} onSend={() => create.mutate()}>
      <TextField
        label={t("operator.links.note")}
        hint={t("operator.links.note.hint")}
        maxLength={200}
        autoComplete="off"
        value={note}
        onChange={setNote}
      />
      <div className="flex flex-wrap gap-x-3 gap-y-[18px]">
        <TextField
          label={t("operator.links.maxUses")}
          className="flex-1 basis-32"
          type="number"
          min="1"
          required
          value={maxUses}
          onChange={setMaxUses}
        />
        <Field label={t("operator.links.lifetime")} className="flex-1 basis-32">
          {(ids) => (
            <Select {...ids} value={days} onChange={(event) => setDays(event.target.value)}>
              {lifetimes.map(([value, label]) => (
                <option key={value} value={value}>
                  {t(label)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      <TextField
        label={t("operator.links.domain")}
        hint={t("operator.links.domain.hint")}
        autoComplete="off"
        spellCheck={false}
        value={domain}
        onChange={setDomain}
      />
      <ErrorMessage error={create.error} />
      <SubmitButton busy={create.isPending} className="justify-self-start">
        {t("operator.links.create")}
      </SubmitButton>
    </Form>
  );
}
