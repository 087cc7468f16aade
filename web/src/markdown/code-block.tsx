import { createContext, use, useMemo, useState } from "react";
import { previewKind } from "@/components/preview/preview-kind";
import { PreviewHostContext } from "@/lib/open-preview";
import { t } from "@/lib/t";
import { CopyButton } from "./copy-button";
import { withoutExcessMarks } from "./drawable-text";
import { lazyModule } from "./lazy-module";

/** False in blocks that further text can change. */
export const IsFinishedBlock = createContext(true);

/** Lines that a long block shows at first, in lines of 1.63 em below 12 px of padding. */
const COLLAPSED_LINES = 40;

const useRichCode = lazyModule(() => import("./rich-code"));

interface CodeBlockProps {
  /** Word after the opening fence; may be empty. */
  language: string;
  text: string;
}

/**
 * Code block with its language and a copy button. Long lines scroll. Colours, further controls and the card of its
 * preview are loaded once the block is finished and change the size of nothing.
 */
export function CodeBlock({ language, text }: CodeBlockProps) {
  const isFinished = use(IsFinishedBlock);
  const rich = useRichCode(isFinished);
  const lines = useMemo(() => (isFinished ? text.split("\n").length : 0), [isFinished, text]);
  // A block that was read while it came stays open, so that nothing moves when it is finished.
  const [isOpen, setOpen] = useState(!isFinished);
  const [isWrapped, setWrapped] = useState(false);
  const host = use(PreviewHostContext);
  const kind = isFinished && text.trim() !== "" ? previewKind(language) : undefined;
  const isLong = lines > COLLAPSED_LINES;
  const isCollapsed = isLong && !isOpen;
  const shown = withoutExcessMarks(text);
  return (
    <>
      <figure className="relative overflow-hidden rounded-md border border-line bg-paper">
        <figcaption className="flex min-h-9 items-center border-b border-line bg-sunken py-0.5 pr-1.5 pl-3.5 text-xs text-ink-2">
          <span className="me-auto min-w-0 truncate">
            {rich?.languageName(language) ?? (language || t("chat.code.plain"))}
          </span>
          {rich && (
            <rich.CodeControls
              language={language}
              text={text}
              lines={isCollapsed && !isWrapped ? { shown: COLLAPSED_LINES, total: lines } : undefined}
              isWrapped={isWrapped}
              onWrap={setWrapped}
            />
          )}
          <CopyButton text={text} label={t("chat.code.copy")} />
        </figcaption>
        <pre
          tabIndex={0}
          aria-label={t("chat.code.label")}
          className={`overflow-x-auto px-3.5 py-3 font-mono text-[0.84375em]/[1.63] print:max-h-none print:whitespace-pre-wrap ${
            isWrapped ? "whitespace-pre-wrap wrap-anywhere" : ""
          } ${isCollapsed ? "max-h-[calc(65.2em+12px)] overflow-y-hidden" : ""}`}
        >
          <code>{rich ? <rich.HighlightedCode language={language} text={shown} /> : shown}</code>
        </pre>
        {rich && isLong && <rich.CodeFold lines={lines} isOpen={isOpen} onToggle={setOpen} />}
      </figure>
      {host && kind && (
        <div className="min-h-16 print:hidden">
          {rich && <rich.PreviewCard block={{ kind, text }} chat={host.chat} />}
        </div>
      )}
    </>
  );
}
