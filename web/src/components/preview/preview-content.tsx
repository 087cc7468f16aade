import { useMemo } from "react";
import { JsonTreeView } from "@/components/json-tree/json-tree-view";
import { parseJson } from "@/lib/json";
import { t } from "@/lib/later-texts";
import { drawable } from "@/markdown/drawable-text";
import type { Definitions } from "@/markdown/incremental";
import { Markdown } from "@/markdown/markdown";
import { HeadingLevel } from "@/markdown/render-node";
import { TableBlock } from "@/markdown/table-block";
import { cellText } from "@/markdown/table-text";
import { csvTable } from "./csv-table";
import { SandboxFrame, svgPage } from "./sandbox-frame";
import type { Previewable } from "./versions";

const NO_DEFINITIONS: Definitions = new Map();

interface PreviewContentProps {
  version: Previewable;
  title: string;
  /** Called when Escape was pressed in a frame. */
  onEscape: () => void;
}

/** The drawn form of a text. Pages and images are in a sandbox; the rest is drawn by the web app itself. */
export function PreviewContent({ version, title, onEscape }: PreviewContentProps) {
  const { kind, text } = version;
  if (kind === "html") return <SandboxFrame html={text} title={title} onEscape={onEscape} />;
  if (kind === "svg") return <SandboxFrame html={svgPage(text, title)} title={title} onEscape={onEscape} />;
  return (
    <div className="min-h-0 flex-1 overflow-auto p-5 max-wide:p-3.5">
      {kind === "markdown" && (
        <HeadingLevel value={3}>
          <Markdown text={text} complete />
        </HeadingLevel>
      )}
      {kind === "csv" && <CsvView text={text} />}
      {kind === "json" && <JsonView text={text} />}
    </div>
  );
}

function CsvView({ text }: { text: string }) {
  const { table, shownRows } = useMemo(() => csvTable(text), [text]);
  return (
    <>
      <TableBlock
        table={table}
        definitions={NO_DEFINITIONS}
        renderChildren={(cell) => [drawable(cellText(cell))]}
      />
      {shownRows !== undefined && (
        <p className="pt-2.5 text-xs text-ink-2">{t("preview.rows", { n: shownRows })}</p>
      )}
    </>
  );
}

function JsonView({ text }: { text: string }) {
  const value = useMemo((): { json: unknown } | undefined => {
    try {
      return { json: parseJson(text) };
    } catch {
      return undefined;
    }
  }, [text]);
  if (value === undefined) return <p className="text-sm text-err">{t("preview.invalidJson")}</p>;
  return <JsonTreeView value={value.json} />;
}
