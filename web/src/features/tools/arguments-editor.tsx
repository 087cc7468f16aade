import { useRef } from "react";
import { t } from "@/lib/later-texts";
import { SchemaForm } from "@/components/schema-form/schema-form";
import { Button } from "@/ui/button";
import { Field, Textarea } from "@/ui/field";
import type { ArgumentsEditor as Editor } from "./use-arguments";

interface ArgumentsEditorProps {
  editor: Editor;
  onSubmit: () => void;
}

/** Editor for arguments as form or JSON; Ctrl or Cmd with Enter runs the tool. */
export function ArgumentsEditor({ editor, onSubmit }: ArgumentsEditorProps) {
  const form = useRef<HTMLFormElement>(null);
  const isEmpty = editor.form.kind === "group" && editor.form.fields.length === 0;
  return (
    <form
      ref={form}
      noValidate
      className="grid gap-[18px]"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.current?.requestSubmit();
      }}
    >
      {editor.json !== undefined && <JsonEditor editor={editor} text={editor.json} />}
      {editor.json === undefined && isEmpty && <p className="text-sm text-ink-2">{t("form.noArguments")}</p>}
      {editor.json === undefined && !isEmpty && (
        <SchemaForm
          form={editor.form}
          draft={editor.draft}
          errors={editor.errors}
          onChange={editor.changeDraft}
        />
      )}
      <Button variant="quiet" size="sm" className="-ml-[11px] justify-self-start" onClick={editor.toggleJson}>
        {editor.json === undefined ? t("form.editAsJson") : t("form.editAsForm")}
      </Button>
    </form>
  );
}

function JsonEditor({ editor, text }: { editor: Editor; text: string }) {
  return (
    <Field label={t("form.json")} error={editor.jsonError}>
      {(ids) => (
        <Textarea
          {...ids}
          value={text}
          onChange={(event) => editor.changeJson(event.target.value)}
          spellCheck={false}
          className="min-h-40 font-mono text-sm"
        />
      )}
    </Field>
  );
}
