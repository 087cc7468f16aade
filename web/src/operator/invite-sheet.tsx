import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Check, Copy } from "lucide-react";
import { useEffect, useId, useRef, useState } from "react";
import { Button } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import { TextField, Textarea } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { Sheet } from "@/ui/sheet";
import { toast } from "@/ui/toast";
import { callOperator, serverQuery } from "./api";
import { t } from "./t";

type Way = "email" | "link";

/** Invitation of a user, by an email of the server or by a link. */
export function InviteSheet({ onClose }: { onClose: () => void }) {
  const [link, setLink] = useState<{ email: string; url: string }>();
  return (
    <Sheet title={t("operator.invite")} subtitle={t("operator.invite.about")} onClose={onClose}>
      {link === undefined ? (
        <InviteForm onLink={(email, url) => setLink({ email, url })} onSent={onClose} />
      ) : (
        <InvitationLink {...link} onClose={onClose} />
      )}
    </Sheet>
  );
}

interface InviteFormProps {
  onLink: (email: string, url: string) => void;
  onSent: () => void;
}

function InviteForm({ onLink, onSent }: InviteFormProps) {
  const client = useQueryClient();
  const [email, setEmail] = useState("");
  const { data: server } = useQuery(serverQuery);
  const [chosen, choose] = useState<Way>();
  const canSend = server?.signUps.hasMail ?? false;
  const way = chosen ?? (canSend ? "email" : "link");
  const name = useId();
  const invite = useMutation({
    mutationFn: () => callOperator<{ link: string | null }>("/users/invitations", "POST", { email, way }),
    onSuccess: ({ link }) => {
      void client.invalidateQueries({ queryKey: ["users"] });
      if (link !== null) return onLink(email, link);
      toast({ title: t("operator.invite.sent"), description: email, tone: "ok" });
      onSent();
    },
  });
  return (
    <Form className="grid gap-[18px]" busy={invite.isPending} onSend={() => invite.mutate()}>
      <TextField
        label={t("operator.invite.email")}
        type="email"
        autoComplete="off"
        required
        value={email}
        onChange={setEmail}
      />
      <fieldset className="grid gap-1.5">
        <legend className="mb-1.5 text-md font-medium">{t("operator.invite.way")}</legend>
        {(["email", "link"] as const).map((one) => (
          <label key={one} className="flex items-center gap-2.5 text-md touch:min-h-11">
            <input
              type="radio"
              name={name}
              className="size-[18px] shrink-0 accent-accent touch:h-11"
              checked={way === one}
              disabled={one === "email" && !canSend}
              onChange={() => choose(one)}
            />
            {t(one === "email" ? "operator.invite.byEmail" : "operator.invite.byLink")}
          </label>
        ))}
      </fieldset>
      <ErrorMessage error={invite.error} />
      <SubmitButton busy={invite.isPending} className="justify-self-start">
        {t("operator.invite.submit")}
      </SubmitButton>
    </Form>
  );
}

function InvitationLink({ email, url, onClose }: { email: string; url: string; onClose: () => void }) {
  const [isCopied, setCopied] = useState(false);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  // The form that had the focus is gone.
  useEffect(() => field.current?.focus(), []);
  return (
    <div className="grid gap-3">
      <label htmlFor={id} className="text-md font-medium">
        {t("operator.invite.link")}
      </label>
      <Textarea
        id={id}
        ref={field}
        readOnly
        value={url}
        className="font-mono text-sm wrap-anywhere"
        onFocus={(event) => event.target.select()}
      />
      <p className="text-sm text-ink-2">{t("operator.invite.linkHint", { email })}</p>
      <div className="flex flex-wrap gap-2">
        {/* Browsers have it on secure origins only. */}
        {"clipboard" in navigator && (
          <Button
            variant="primary"
            onClick={() => void navigator.clipboard.writeText(url).then(() => setCopied(true))}
          >
            {isCopied ? <Check aria-hidden="true" /> : <Copy aria-hidden="true" />}
            {t(isCopied ? "operator.invite.copied" : "operator.invite.copy")}
          </Button>
        )}
        <Button onClick={onClose}>{t("operator.invite.done")}</Button>
      </div>
    </div>
  );
}
