import { ArrowDown, ArrowUp, Check, ChevronsUpDown, Copy, Download } from "lucide-react";
import type { Nodes, Table, TableCell } from "mdast";
import { type ReactNode, type RefObject, useEffect } from "react";
import { cn } from "@/lib/cn";
import { t } from "@/lib/later-texts";
import { saveFile } from "@/lib/save-file";
import { Button, IconButton } from "@/ui/button";
import { useCopy } from "./copy-button";
import type { Definitions } from "./incremental";
import { nextSort, type TableSort } from "./table-sort";
import { cellText, orderedTable, toCsv, toMarkdown } from "./table-text";

export { sortedRows } from "./table-sort";

/** Returns how many rows a table has, in words. */
export function rowCount(rows: number): string {
  return t("table.rows", { n: rows });
}

interface TableControlsProps {
  table: Table;
  definitions: Definitions;
  /** Order of the rows, if they are sorted. */
  order: readonly number[] | undefined;
  /** Box in which the table scrolls. */
  box: RefObject<HTMLElement | null>;
  /** Called with true if the table is wider than its box, and with false if it is not. */
  onOverflow: (isWider: boolean) => void;
}

/** Buttons that copy or save a finished table, in the order in which it is shown. */
export function TableControls({ table, definitions, order, box, onOverflow }: TableControlsProps) {
  useEffect(() => {
    const { current: element } = box;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => onOverflow(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    // Its own width changes with its fonts and formulas.
    if (element.firstElementChild) observer.observe(element.firstElementChild);
    return () => observer.disconnect();
  }, [box, onOverflow]);
  const shown = () => orderedTable(table, order);
  return (
    <div className="flex transition-opacity duration-150 group-focus-within/table:opacity-100 group-hover/table:opacity-100 print:hidden [@media(hover:hover)]:opacity-0">
      <CopyAs
        name={t("table.markdown")}
        label={t("table.copyMarkdown")}
        write={() => toMarkdown(shown(), definitions)}
      />
      <CopyAs name={t("table.csv")} label={t("table.copyCsv")} write={() => toCsv(shown())} />
      <IconButton
        size="sm"
        label={t("table.download")}
        icon={<Download />}
        onClick={() =>
          saveFile({ name: "table.csv", content: new Blob([toCsv(shown())], { type: "text/csv" }) })
        }
      />
    </div>
  );
}

interface CopyAsProps {
  name: string;
  label: string;
  write: () => string;
}

function CopyAs({ name, label, write }: CopyAsProps) {
  const [{ said, succeeded }, copy] = useCopy();
  return (
    <>
      <Button
        variant="quiet"
        size="sm"
        aria-label={label}
        title={said || label}
        className="px-2! text-xs! [&_svg]:size-3.5!"
        onClick={() => void copy(write())}
      >
        {succeeded ? <Check aria-hidden="true" /> : <Copy aria-hidden="true" />}
        {name}
      </Button>
      <span role="status" className="sr-only">
        {said}
      </span>
    </>
  );
}

interface SortButtonProps {
  cell: TableCell;
  column: number;
  sort: TableSort | undefined;
  onSort: (sort: TableSort | undefined) => void;
  /** Box of the text, which stays the same. */
  className: string;
  /** The text. */
  children: ReactNode;
}

/** Text of a head cell as a button that sorts by its column; beside a text that has controls of its own. */
export function SortButton({ cell, column, sort, onSort, className, children }: SortButtonProps) {
  const text = cellText(cell).trim();
  const direction = sort?.column === column ? sort.direction : undefined;
  const name = t("table.column", { n: column + 1 });
  const props = { type: "button", onClick: () => onSort(nextSort(sort, column)) } as const;
  if (cell.children.some(hasControl)) {
    return (
      <div className={className}>
        {children}
        <button
          {...props}
          aria-label={t("table.sortBy", { column: text || name })}
          className="group/sort absolute inset-y-0 end-0 w-6 focus-visible:-outline-offset-2"
        >
          <SortMark direction={direction} />
        </button>
      </div>
    );
  }
  return (
    <button
      {...props}
      aria-label={text === "" ? name : undefined}
      className={cn(
        className,
        "group/sort cursor-default font-medium hover:text-ink focus-visible:-outline-offset-2",
        direction && "text-ink",
      )}
    >
      {children}
      <SortMark direction={direction} />
    </button>
  );
}

/** Direction of the sort behind the text of a head cell. It takes no room, so that nothing moves. */
function SortMark({ direction }: { direction: TableSort["direction"] | undefined }) {
  const Icon = direction === undefined ? ChevronsUpDown : direction === "ascending" ? ArrowUp : ArrowDown;
  return (
    <span
      aria-hidden="true"
      className={cn(
        // Without a place of its own it stands where it would as a letter.
        "absolute ms-0.5 mt-1 [&_svg]:size-3",
        direction === undefined &&
          "text-ink-3 transition-opacity duration-150 group-hover/sort:opacity-100 group-focus-visible/sort:opacity-100 print:hidden [@media(hover:hover)]:opacity-0",
      )}
    >
      <Icon />
    </span>
  );
}

/** Returns true if a node has a link, or an image or formula that can be operated. */
function hasControl(node: Nodes): boolean {
  if (/^(?:link|image|math)/u.test(node.type)) return true;
  return "children" in node && node.children.some(hasControl);
}
