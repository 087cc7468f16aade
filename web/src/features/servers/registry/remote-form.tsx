import { type ReactNode, useEffect, useRef, useState } from "react";
import { t } from "@/lib/later-texts";
import { Button } from "@/ui/button";
import { Field, Input, Select } from "@/ui/field";
import { Form, SubmitButton } from "@/ui/form";
import type { InputValues, RemoteInput, UsableRemote } from "./remote-inputs";
import { shorten } from "./shorten";

interface RemoteFormProps {
  /** At least one. */
  remotes: readonly UsableRemote[];
  busy: boolean;
  onCancel: () => void;
  onConnect: (remote: UsableRemote, values: InputValues) => void;
}

/**
 * Fields for the values that a server asks for. The values are only in the fields, which disappear when the server is
 * added; no state keeps a secret.
 */
export function RemoteForm({ remotes, busy, onCancel, onConnect }: RemoteFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const [at, setAt] = useState(0);
  const remote = remotes[at] ?? remotes[0];
  useEffect(() => {
    form.current?.scrollIntoView({ block: "nearest" });
    form.current?.querySelector<HTMLElement>("input, select")?.focus();
  }, []);
  if (!remote) return null;

  function connect(chosen: UsableRemote): void {
    if (!form.current) return;
    const entries = [...new FormData(form.current)];
    onConnect(chosen, new Map(entries.map(([key, value]) => [key, typeof value === "string" ? value : ""])));
  }

  return (
    <Form
      ref={form}
      className="mt-2 grid gap-3.5 rounded-md bg-sunken p-3.5"
      busy={busy}
      onSend={() => connect(remote)}
    >
      {remotes.length > 1 && (
        <Field label={t("servers.browse.address")}>
          {(ids) => (
            <Select {...ids} value={at} onChange={(event) => setAt(Number(event.target.value))}>
              {remotes.map(({ url }, index) => (
                <option key={index} value={index}>
                  {shorten(url, 100)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {remote.inputs.map((input) => (
        <InputField key={`${at} ${input.key}`} input={input} />
      ))}
      <div className="flex flex-wrap gap-2">
        <SubmitButton size="sm" busy={busy}>
          {t("servers.browse.connect")}
        </SubmitButton>
        <Button size="sm" disabled={busy} onClick={onCancel}>
          {t("servers.browse.cancel")}
        </Button>
      </div>
    </Form>
  );
}

function InputField({ input }: { input: RemoteInput }) {
  const { key, choices, isRequired, isSecret, isInHost, default: preset = "", placeholder } = input;
  const name = shorten(input.headerName ?? input.name, 100);
  const field = { name: key, defaultValue: preset, required: isRequired };
  return (
    <Field label={isRequired ? name : t("servers.browse.optional", { name })} hint={hintOf(input)}>
      {(ids) =>
        choices.length > 0 ? (
          <Select {...ids} {...field}>
            {(!isRequired || !choices.includes(preset)) && (
              <option value="">{t("servers.browse.choose")}</option>
            )}
            {choices.map((choice) => (
              <option key={choice} value={choice}>
                {shorten(choice, 100)}
              </option>
            ))}
          </Select>
        ) : (
          <Input
            {...ids}
            {...field}
            type={isSecret ? "password" : "text"}
            autoComplete="off"
            spellCheck={false}
            {...(placeholder !== undefined && { placeholder: shorten(placeholder, 100) })}
            {...(isInHost && { pattern: String.raw`[A-Za-z0-9.\-]+`, title: t("servers.browse.hostRule") })}
          />
        )
      }
    </Field>
  );
}

/** Returns what the server says of the value, and below it what becomes of a secret. */
function hintOf({ description = "", isSecret, headerName }: RemoteInput): ReactNode {
  const isSealed = isSecret && headerName !== undefined;
  if (description === "" && !isSealed) return undefined;
  return (
    <>
      {description !== "" && <span className="block wrap-anywhere">{shorten(description, 300)}</span>}{" "}
      {isSealed && <span className="block">{t("servers.browse.secretHint")}</span>}
    </>
  );
}
