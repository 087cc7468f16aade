import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { showInvisible } from "@/lib/show-invisible";
import { Button } from "@/ui/button";
import { Field } from "@/ui/field";
import { Sheet } from "@/ui/sheet";
import type { DraftOffer } from "../composer/attachments";
import { nameOf } from "./offer-list";
import { attach, type Blank, type Offer, type Wish } from "./offers";
import { t } from "./offers-text";
import { SuggestInput } from "./suggest-input";
import { expand, variablesOf } from "./uri-template";

interface FillInProps {
  offer: Offer;
  onAttached: (attachment: DraftOffer) => void;
  onClose: () => void;
}

interface Row {
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly required: boolean;
}

/** What a prompt or a template takes, with the server's proposals. */
export function FillIn({ offer, onAttached, onClose }: FillInProps) {
  const formId = useId();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const rows = rowsOf(offer);
  const blank: Blank =
    offer.kind === "template" ? { template: offer.template.uriTemplate } : { prompt: nameOf(offer) };
  const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
  const attaching = useMutation({
    mutationFn: () => attach(offer.connectionId, wishFor(offer, filled)),
    onSuccess: onAttached,
  });
  const isComplete = rows.every(({ name, required }) => !required || (values[name] ?? "").trim() !== "");
  const about = offer.kind === "prompt" ? offer.prompt.description : aboutResource(offer);
  return (
    <Sheet
      title={offer.kind === "prompt" ? `/${nameOf(offer)}` : nameOf(offer)}
      subtitle={offer.serverName}
      onClose={onClose}
      footer={
        <>
          <Button
            variant="primary"
            type="submit"
            form={formId}
            busy={attaching.isPending}
            disabled={!isComplete || attaching.isPending}
          >
            {t("offers.attach")}
          </Button>
          <Button onClick={onClose}>{t("offers.cancel")}</Button>
        </>
      }
    >
      {about !== undefined && <p className="text-sm wrap-anywhere text-ink-2">{showInvisible(about)}</p>}
      <form
        id={formId}
        className="grid grid-cols-[minmax(0,1fr)] gap-[18px]"
        onSubmit={(event) => {
          event.preventDefault();
          if (isComplete && !attaching.isPending) attaching.mutate();
        }}
      >
        {rows.map(({ name, label, hint, required }) => (
          <Field
            key={name}
            label={
              <>
                {showInvisible(label)}{" "}
                {required && <span className="font-normal text-ink-2">{t("offers.required")}</span>}
              </>
            }
            hint={hint === undefined ? undefined : showInvisible(hint)}
          >
            {(ids) => (
              <SuggestInput
                {...ids}
                required={required}
                value={values[name] ?? ""}
                onChange={(value) => setValues({ ...values, [name]: value })}
                question={{ connectionId: offer.connectionId, blank, name, filled }}
              />
            )}
          </Field>
        ))}
      </form>
      {offer.kind === "template" && (
        <p className="font-mono text-sm wrap-anywhere text-ink-2">
          {expand(offer.template.uriTemplate, filled)}
        </p>
      )}
      {attaching.status === "error" && (
        <p role="alert" className="text-sm wrap-anywhere text-err">
          {attaching.error.message}
        </p>
      )}
    </Sheet>
  );
}

/** Whether an offer has to be filled in before it can be attached. */
export function hasBlanks(offer: Offer): boolean {
  return rowsOf(offer).length > 0;
}

/** What is wanted of the server for an offer. */
export function wishFor(offer: Offer, values: Readonly<Record<string, string>>): Wish {
  if (offer.kind === "prompt") {
    const { name, title } = offer.prompt;
    return { prompt: { name, ...(title !== undefined && { title }), arguments: values } };
  }
  const { name, title } = offer.kind === "resource" ? offer.resource : offer.template;
  const uri = offer.kind === "resource" ? offer.resource.uri : expand(offer.template.uriTemplate, values);
  return { resource: { uri, name, ...(title !== undefined && { title }) } };
}

function rowsOf(offer: Offer): readonly Row[] {
  if (offer.kind === "resource") return [];
  if (offer.kind === "template")
    return variablesOf(offer.template.uriTemplate).map((name) => ({
      name,
      label: name,
      hint: undefined,
      required: false,
    }));
  return offer.prompt.arguments.map(({ name, title, description, required }) => ({
    name,
    label: title ?? name,
    hint: description,
    required,
  }));
}

function aboutResource(offer: Offer): string | undefined {
  return offer.kind === "template" ? offer.template.description : undefined;
}
