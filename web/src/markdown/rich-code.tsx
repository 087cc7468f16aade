import { Code, Download, Workflow, WrapText } from "lucide-react";
import { startTransition, useEffect, useState } from "react";
import { t } from "@/lib/later-texts";
import { lazyPart } from "@/lib/lazy-part";
import { saveFile } from "@/lib/save-file";
import { Button, IconButton } from "@/ui/button";
import { extensionOf, languageName as codeLanguageName } from "./code-languages";
import { type CodePiece, highlight, highlighted } from "./highlight";

export { PreviewCard } from "@/components/preview/preview-card";

const Diagram = lazyPart(async () => (await import("@/components/diagram/diagram")).Diagram);

/** Returns the name of a language, or undefined if it is not known. */
export function languageName(word: string): string | undefined {
  return /^(?:text|txt|plain|plaintext)$/iu.test(word) ? t("chat.code.plain") : codeLanguageName(word);
}

interface HighlightedCodeProps {
  language: string;
  text: string;
}

/** Coloured code; plain until a worker has read it, and if it cannot. */
export function HighlightedCode({ language, text }: HighlightedCodeProps) {
  const known = highlighted(language, text);
  const [late, setLate] = useState<{ text: string; pieces: readonly CodePiece[] | null }>();
  useEffect(() => {
    if (known !== undefined) return undefined;
    let isCurrent = true;
    void highlight(language, text).then((pieces) => isCurrent && setLate({ text, pieces }));
    return () => void (isCurrent = false);
  }, [known, language, text]);
  const pieces = known ?? (late?.text === text ? late.pieces : null);
  if (!pieces) return text;
  return pieces.map(([piece, kind], index) =>
    kind === null ? (
      piece
    ) : (
      <span key={index} className={`code-${kind}`}>
        {piece}
      </span>
    ),
  );
}

interface CodeControlsProps {
  language: string;
  text: string;
  /** Number of lines, if not all are shown. */
  lines: { shown: number; total: number } | undefined;
  isWrapped: boolean;
  onWrap: (isWrapped: boolean) => void;
}

/** Controls of a finished code block, beside the copy button. */
export function CodeControls({ language, text, lines, isWrapped, onWrap }: CodeControlsProps) {
  const [isDiagram, setDiagram] = useState(false);
  const save = () =>
    saveFile({ name: `code.${extensionOf(language)}`, content: new Blob([text], { type: "text/plain" }) });
  return (
    <>
      {language.toLowerCase() === "mermaid" && text.trim() !== "" && (
        // The block stays as it is until the diagram's code is there.
        <DiagramButton
          isDiagram={isDiagram}
          onToggle={(isWanted) => startTransition(() => setDiagram(isWanted))}
        />
      )}
      {isDiagram ? (
        <Diagram source={text} />
      ) : (
        <>
          {lines && <span className="min-w-0 truncate px-1.5 tabular-nums">{t("code.lines", lines)}</span>}
          <IconButton
            size="sm"
            label={t("code.wrap")}
            aria-pressed={isWrapped}
            data-resizes
            icon={<WrapText />}
            className="aria-pressed:text-accent"
            onClick={() => onWrap(!isWrapped)}
          />
          <IconButton size="sm" label={t("code.download")} icon={<Download />} onClick={save} />
        </>
      )}
    </>
  );
}

interface DiagramButtonProps {
  isDiagram: boolean;
  onToggle: (isDiagram: boolean) => void;
}

/** Button that shows a diagram instead of its code, or the code again. */
function DiagramButton({ isDiagram, onToggle }: DiagramButtonProps) {
  const label = isDiagram ? t("code.diagram.hide") : t("code.diagram.show");
  return (
    <Button
      variant="quiet"
      size="sm"
      title={label}
      data-resizes
      className="px-2! text-xs! text-accent! touch:min-w-11 [&_svg]:size-3.5! print:hidden"
      onClick={() => onToggle(!isDiagram)}
    >
      {isDiagram ? <Code aria-hidden="true" /> : <Workflow aria-hidden="true" />}
      <span className="max-wide:sr-only">{label}</span>
    </Button>
  );
}

interface CodeFoldProps {
  lines: number;
  isOpen: boolean;
  onToggle: (isOpen: boolean) => void;
}

/** Button that shows all lines of a long block, or the first ones again. */
export function CodeFold({ lines, isOpen, onToggle }: CodeFoldProps) {
  return (
    <div
      className={`flex justify-center print:hidden ${
        isOpen
          ? "border-t border-line"
          : "pointer-events-none absolute inset-x-0 bottom-0 bg-linear-to-t from-paper from-35% pt-14"
      }`}
    >
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => onToggle(!isOpen)}
        className="pointer-events-auto min-h-9 w-full text-sm font-medium text-ink-2 hover:text-ink focus-visible:-outline-offset-2 touch:min-h-11"
      >
        {isOpen ? t("code.showLess") : t("code.showAll", { lines })}
      </button>
    </div>
  );
}
