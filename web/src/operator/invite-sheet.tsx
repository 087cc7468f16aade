import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ErrorMessage } from "@/ui/error-message";
import { TextField } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import { Sheet } from "@/ui/sheet";
import { toast } from "@/ui/toast";
import { callOperator, serverQuery } from "./api";
import { NewLink } from "./new-link";
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
        <NewLink
          label={t("operator.invite.link")}
          hint={t("operator.invite.linkHint", { email: link.email })}
          url={link.url}
        />
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
