import { useMutation } from "@tanstack/react-query";
import { useId, useState } from "react";
import { t } from "@/lib/later-texts";
import { showInvisible } from "@/lib/show-invisible";
import { Button } from "@/ui/button";
import { ErrorMessage } from "@/ui/error-message";
import { Field } from "@/ui/field";
import { Sheet } from "@/ui/sheet";
import type { DraftMcpAttachment } from "../composer/attachments";
import { displayNameOf } from "./mcp-context-list";
import {
  type AttachRequest,
  type CompletionTarget,
  createAttachment,
  type PromptOrResource,
} from "./queries";
import { SuggestionInput } from "./suggestion-input";
import { expand, variablesOf } from "./uri-template";

interface ArgumentFormProps {
  item: PromptOrResource;
  onAttached: (attachment: DraftMcpAttachment) => void;
  onClose: () => void;
}

interface ArgumentField {
  readonly name: string;
  readonly label: string;
  readonly hint: string | undefined;
  readonly required: boolean;
}

/** Form for the arguments of a prompt or the variables of a template, with suggestions of the server. */
export function ArgumentForm({ item, onAttached, onClose }: ArgumentFormProps) {
  const formId = useId();
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const fields = argumentFieldsOf(item);
  const target: CompletionTarget =
    item.kind === "template" ? { template: item.template.uriTemplate } : { prompt: displayNameOf(item) };
  const filled = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
  const attaching = useMutation({
    mutationFn: () => createAttachment(item.connectionId, attachRequestFor(item, filled)),
    onSuccess: onAttached,
  });
  const isComplete = fields.every(({ name, required }) => !required || (values[name] ?? "").trim() !== "");
  const about = item.kind === "prompt" ? item.prompt.description : templateDescription(item);
  return (
    <Sheet
      title={item.kind === "prompt" ? `/${displayNameOf(item)}` : displayNameOf(item)}
      subtitle={item.serverName}
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
        {fields.map(({ name, label, hint, required }) => (
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
              <SuggestionInput
                {...ids}
                required={required}
                value={values[name] ?? ""}
                onChange={(value) => setValues({ ...values, [name]: value })}
                question={{ connectionId: item.connectionId, target, name, filled }}
              />
            )}
          </Field>
        ))}
      </form>
      {item.kind === "template" && (
        <p className="font-mono text-sm wrap-anywhere text-ink-2">
          {expand(item.template.uriTemplate, filled)}
        </p>
      )}
      <ErrorMessage error={attaching.error} />
    </Sheet>
  );
}

/** Returns true if an item has arguments or variables to fill in before it can be attached. */
export function needsArguments(item: PromptOrResource): boolean {
  return argumentFieldsOf(item).length > 0;
}

/** Returns the request that attaches an item with these values. */
export function attachRequestFor(
  item: PromptOrResource,
  values: Readonly<Record<string, string>>,
): AttachRequest {
  if (item.kind === "prompt") {
    const { name, title } = item.prompt;
    return { prompt: { name, ...(title !== undefined && { title }), arguments: values } };
  }
  const { name, title } = item.kind === "resource" ? item.resource : item.template;
  const uri = item.kind === "resource" ? item.resource.uri : expand(item.template.uriTemplate, values);
  return { resource: { uri, name, ...(title !== undefined && { title }) } };
}

function argumentFieldsOf(item: PromptOrResource): readonly ArgumentField[] {
  if (item.kind === "resource") return [];
  if (item.kind === "template")
    return variablesOf(item.template.uriTemplate).map((name) => ({
      name,
      label: name,
      hint: undefined,
      required: false,
    }));
  return item.prompt.arguments.map(({ name, title, description, required }) => ({
    name,
    label: title ?? name,
    hint: description,
    required,
  }));
}

function templateDescription(item: PromptOrResource): string | undefined {
  return item.kind === "template" ? item.template.description : undefined;
}
