import type { Parents, Table } from "mdast";
import { type ReactNode, use, useMemo, useRef, useState } from "react";
import { t } from "@/lib/t";
import { IsFinishedBlock } from "./code-block";
import type { Definitions } from "./incremental";
import { lazyModule } from "./lazy-module";
import type { TableSort } from "./table-sort";

const ALIGN = { left: "text-start", center: "text-center", right: "text-right" } as const;
/** Box of a head cell's text, plain or a button. */
const HEAD_CELL = "relative block w-full px-3.5 py-1.75 [text-align:inherit] touch:py-3";

const useRichTable = lazyModule(() => import("./rich-table"));

interface TableBlockProps {
  table: Table;
  definitions: Definitions;
  renderChildren: (node: Parents, definitions: Definitions) => ReactNode;
}

/**
 * Table in a frame, which scrolls if it is wide. Controls and sorting are loaded once the table is finished and change
 * the size of nothing.
 */
export function TableBlock({ table, definitions, renderChildren }: TableBlockProps) {
  const rich = useRichTable(use(IsFinishedBlock));
  const [sort, setSort] = useState<TableSort>();
  const order = useMemo(() => sort && rich?.sortedRows(table, sort), [rich, sort, table]);
  const box = useRef<HTMLDivElement>(null);
  const [canScroll, setCanScroll] = useState(true);
  const align = (column: number): string => ALIGN[table.align?.[column] ?? "left"];
  const [head, ...body] = table.children;
  const rows = body.map((row, index) => (
    <tr key={index}>
      {row.children.map((cell, column) => (
        <td
          key={column}
          className={`min-w-28 border-t border-line px-3.5 py-1.75 align-top tabular-nums ${align(column)}`}
        >
          {renderChildren(cell, definitions)}
        </td>
      ))}
    </tr>
  ));
  return (
    <figure className="group/table overflow-hidden rounded-md border border-line bg-paper">
      <figcaption className="flex min-h-9 items-center border-b border-line py-0.5 pr-1.5 pl-3.5 text-xs text-ink-2 touch:min-h-[49px]">
        <span className="me-auto min-w-0 truncate">{rich?.rowCount(rows.length) ?? t("chat.table")}</span>
        {rich && <rich.TableControls {...{ table, definitions, order, box }} onOverflow={setCanScroll} />}
      </figcaption>
      <div
        ref={box}
        role="group"
        aria-label={t("chat.table")}
        tabIndex={canScroll ? 0 : undefined}
        className="table-scroll overflow-x-auto focus-visible:-outline-offset-2"
      >
        <table dir="auto" className="w-full border-collapse text-[0.9375em]/[1.6]">
          <thead>
            <tr>
              {head?.children.map((cell, column) => {
                const direction = sort?.column === column ? sort.direction : undefined;
                const text = renderChildren(cell, definitions);
                return (
                  <th
                    key={column}
                    scope="col"
                    aria-sort={direction}
                    className={`min-w-28 p-0 text-sm font-medium text-ink-2 ${align(column)}`}
                  >
                    {rich ? (
                      <rich.SortButton {...{ cell, column, sort, onSort: setSort, className: HEAD_CELL }}>
                        {text}
                      </rich.SortButton>
                    ) : (
                      <div className={HEAD_CELL}>{text}</div>
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>{order ? order.map((index) => rows[index]) : rows}</tbody>
        </table>
      </div>
    </figure>
  );
}
