import { useState } from "react";
import type { AvailableTool } from "@/lib/available-tool";
import { useDraft } from "@/lib/drafts";
import { isObject, parseJson, sameJson, stringifyJson } from "@/lib/json";
import { t } from "@/lib/later-texts";
import { type Draft, draftOf, initialDraft } from "@/components/schema-form/draft";
import { type Field, formOf } from "@/components/schema-form/field-model";
import { type FieldErrors, readValue } from "@/components/schema-form/read-value";

/** Arguments of a tool being edited, as a form or as JSON. */
export interface ArgumentsEditor {
  form: Field;
  draft: Draft;
  errors: FieldErrors;
  /** The JSON text; undefined while the form is shown. */
  json: string | undefined;
  /** Error in the JSON text, or the reason why it cannot become a form. */
  jsonError: string | undefined;
  changeDraft: (draft: Draft) => void;
  changeJson: (text: string) => void;
  toggleJson: () => void;
  /** Returns the arguments, or undefined after showing errors. */
  read: () => unknown;
}

const noErrors: FieldErrors = new Map();

interface State {
  draft: Draft;
  json: string | undefined;
}

export function useArguments(tool: AvailableTool): ArgumentsEditor {
  const form = formOf(tool.inputSchema);
  const [state, setState] = useDraft<State>(`tool/${tool.serverName}/${tool.name}`, {
    draft: initialDraft(form),
    json: undefined,
  });
  const [errors, setErrors] = useState<FieldErrors>(noErrors);
  const [jsonError, setJsonError] = useState<string>();

  function read(): unknown {
    if (state.json === undefined) {
      const reading = readValue(form, state.draft);
      setErrors(reading.errors);
      return reading.errors.size === 0 ? reading.value : undefined;
    }
    const parsed = parseObject(state.json);
    setJsonError(parsed.error);
    return parsed.value;
  }

  function toggleJson(): void {
    setErrors(noErrors);
    setJsonError(undefined);
    if (state.json === undefined) {
      setState({ ...state, json: stringifyJson(readValue(form, state.draft).value ?? {}, 2) });
      return;
    }
    const parsed = parseObject(state.json);
    const draft = draftOf(form, parsed.value);
    if (parsed.error !== undefined) setJsonError(parsed.error);
    else if (showsAll(form, draft, parsed.value)) setState({ draft, json: undefined });
    else setJsonError(t("form.onlyJson"));
  }

  return {
    form,
    draft: state.draft,
    errors,
    json: state.json,
    jsonError,
    changeDraft: (draft) => setState({ ...state, draft }),
    changeJson: (json) => setState({ ...state, json }),
    toggleJson,
    read,
  };
}

/** Returns true if a form can show `value` without losing any of it. */
function showsAll(form: Field, draft: Draft, value: unknown): boolean {
  const back = readValue(form, draft).value;
  return sameJson(back, value);
}

function parseObject(text: string): { value?: unknown; error?: string } {
  try {
    const value = parseJson(text);
    return isObject(value) ? { value } : { error: t("form.error.object", { example: '{"name": "value"}' }) };
  } catch (error) {
    return { error: t("form.error.json", { reason: error instanceof Error ? error.message : "" }) };
  }
}
