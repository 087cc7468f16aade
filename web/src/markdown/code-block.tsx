import { CopyButton } from "@/markdown/copy-button";
import { t } from "@/lib/t";
import { withoutExcessMarks } from "@/markdown/drawable-text";

interface CodeBlockProps {
  /** Word after the opening fence; may be empty. */
  language: string;
  text: string;
}

/** Code block with its language and a copy button. Long lines scroll. */
export function CodeBlock({ language, text }: CodeBlockProps) {
  return (
    <figure className="overflow-hidden rounded-md border border-line">
      <figcaption className="flex min-h-9 items-center justify-between border-b border-line bg-sunken py-0.5 pr-1.5 pl-3.5 text-xs text-ink-2">
        <span>{language || t("chat.code.plain")}</span>
        <CopyButton text={text} label={t("chat.code.copy")} />
      </figcaption>
      <pre
        tabIndex={0}
        aria-label={t("chat.code.label")}
        className="overflow-x-auto px-3.5 py-3 font-mono text-[13.5px]/[22px]"
      >
        <code>{withoutExcessMarks(text)}</code>
      </pre>
    </figure>
  );
}
