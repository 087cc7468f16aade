import { Image } from "lucide-react";
import type { Heading, List, ListItem, Nodes, Parents } from "mdast";
import { createContext, type ReactNode, use, useState } from "react";
import { hostOf, safeUrl } from "@/lib/safe-url";
import { t } from "@/lib/t";
import { CodeBlock } from "./code-block";
import { drawable } from "./drawable-text";
import type { Definitions } from "./incremental";
import { MathView } from "./math-view";
import { TableBlock } from "./table-block";

const HEADINGS = {
  1: "text-[1.25em]/[1.4]",
  2: "text-[1.125em]/[1.55]",
  3: "text-[1em]",
  4: "text-[1em]",
  5: "text-[0.875em]",
  6: "text-[0.875em]",
} as const;

/** Two levels of a text share one level of the page, which has six. */
const HEADING_TAGS = {
  3: { 1: "h3", 2: "h3", 3: "h4", 4: "h4", 5: "h5", 6: "h5" },
  4: { 1: "h4", 2: "h4", 3: "h5", 4: "h5", 5: "h6", 6: "h6" },
} as const;

const LINK = "text-accent underline decoration-1 underline-offset-2 hover:decoration-2";
const BREAK_TAG = /^<br\s*\/?>$/iu;

function childrenOf(node: Parents, definitions: Definitions): ReactNode[] {
  // Children have no identity; a changed tail redraws its few nodes.
  return node.children.map((child, index) => <NodeView key={index} node={child} definitions={definitions} />);
}

interface NodeProps {
  node: Nodes;
  definitions: Definitions;
}

/** Renders a node of the tree. Raw HTML is shown as text. */
export function NodeView({ node, definitions }: NodeProps): ReactNode {
  switch (node.type) {
    case "root":
      return childrenOf(node, definitions);
    case "paragraph":
      return <p>{childrenOf(node, definitions)}</p>;
    case "heading":
      return <HeadingView heading={node} definitions={definitions} />;
    case "text":
      return drawable(node.value);
    case "html":
      return BREAK_TAG.test(node.value) ? (
        <br />
      ) : (
        <span className="whitespace-pre-wrap">{drawable(node.value)}</span>
      );
    case "math":
      return <MathView source={node.value} />;
    case "plainText":
      return <span className="whitespace-pre-wrap wrap-anywhere">{drawable(node.value)}</span>;
    case "strong":
      return <strong className="font-semibold">{childrenOf(node, definitions)}</strong>;
    case "emphasis":
      return <em>{childrenOf(node, definitions)}</em>;
    case "delete":
      return <del>{childrenOf(node, definitions)}</del>;
    case "inlineCode":
      return (
        <code className="rounded-[5px] bg-sunken px-1.25 py-0.5 font-mono text-[0.875em]">
          {drawable(node.value)}
        </code>
      );
    case "break":
      return <br />;
    case "thematicBreak":
      return <hr className="border-line" />;
    case "code":
      return <CodeBlock language={node.lang ?? ""} text={node.value} />;
    case "blockquote":
      return (
        <blockquote dir="auto" className="grid gap-3 border-s-2 border-line-strong ps-4 text-ink-2">
          {childrenOf(node, definitions)}
        </blockquote>
      );
    case "link":
      return <LinkView address={node.url}>{childrenOf(node, definitions)}</LinkView>;
    case "linkReference":
      return (
        <LinkView address={definitions.get(node.identifier)?.url ?? ""}>
          {childrenOf(node, definitions)}
        </LinkView>
      );
    case "image":
      return <RemoteImage address={node.url} alt={node.alt ?? ""} />;
    case "imageReference":
      return <RemoteImage address={definitions.get(node.identifier)?.url ?? ""} alt={node.alt ?? ""} />;
    case "list":
      return <ListView list={node} definitions={definitions} />;
    case "listItem":
      return <ItemView item={node} loose={false} definitions={definitions} />;
    case "table":
      return <TableBlock table={node} definitions={definitions} renderChildren={childrenOf} />;
    case "footnoteReference":
      return <sup>[{node.label ?? node.identifier}]</sup>;
    case "footnoteDefinition":
      return (
        <div className="flex gap-2 text-sm text-ink-2">
          <sup className="mt-1">[{node.label ?? node.identifier}]</sup>
          <div className="min-w-0">{childrenOf(node, definitions)}</div>
        </div>
      );
    // Rows and cells are rendered by their table; definitions and front matter are not rendered.
    case "tableRow":
    case "tableCell":
    case "definition":
    case "yaml":
      return null;
    default:
      return node satisfies never;
  }
}

/** Link to another site in a new tab; only its text if the URL is not allowed. */
function LinkView({ address, children }: { address: string; children: ReactNode }) {
  const url = safeUrl(address);
  if (!url) return children;
  return (
    <a href={url.href} title={hostOf(url)} target="_blank" rel="noopener noreferrer" className={LINK}>
      {children}
    </a>
  );
}

function ListView({ list, definitions }: { list: List; definitions: Definitions }) {
  const loose = (list.spread ?? false) || list.children.some(({ spread }) => spread);
  const items = list.children.map((item, index) => (
    <ItemView key={index} item={item} loose={loose} definitions={definitions} />
  ));
  const gap = loose ? "[&>li+li]:mt-2.5" : "[&>li+li]:mt-1";
  if (!list.ordered)
    return (
      <ul dir="auto" className={`list-disc ps-5.5 marker:text-ink-3 ${gap}`}>
        {items}
      </ul>
    );
  return (
    <ol
      dir="auto"
      start={list.start ?? 1}
      className={`list-decimal ps-6.5 marker:text-ink-3 marker:tabular-nums ${gap}`}
    >
      {items}
    </ol>
  );
}

function HeadingView({ heading, definitions }: { heading: Heading; definitions: Definitions }) {
  const Tag = HEADING_TAGS[use(HeadingLevel)][heading.depth];
  return (
    <Tag className={`mt-2 font-semibold ${HEADINGS[heading.depth]}`}>{childrenOf(heading, definitions)}</Tag>
  );
}

function ItemView({
  item,
  loose,
  definitions,
}: {
  item: ListItem;
  loose: boolean;
  definitions: Definitions;
}) {
  const isTask = typeof item.checked === "boolean";
  return (
    <li className={isTask ? "list-none" : loose ? "[&>*+*]:mt-2.5" : "[&>*+*]:mt-1"}>
      {isTask && (
        <input
          type="checkbox"
          checked={item.checked ?? false}
          disabled
          aria-label={t(item.checked === true ? "chat.task.done" : "chat.task.open")}
          className="me-2 -ms-5 size-3.5 align-[-1px] accent-accent"
        />
      )}
      {item.children.map((child, index) =>
        // Items of a tight list are lines, not paragraphs.
        child.type === "paragraph" && !loose ? (
          childrenOf(child, definitions)
        ) : (
          <NodeView key={index} node={child} definitions={definitions} />
        ),
      )}
    </li>
  );
}

/** Level of the highest headings in a text; the page's own headings are above. */
export const HeadingLevel = createContext<3 | 4>(4);

interface RemoteImageProps {
  address: string;
  alt: string;
}

const IMAGE_BUTTON =
  "inline-flex items-center gap-2 rounded-md border border-line-strong bg-surface px-3 py-1.5 text-sm text-ink-2 hover:text-ink touch:min-h-11";

/**
 * Image of an answer, shown on request only: loading it would tell its site that it was viewed. The page may not load
 * images of other sites at all, so those open in a tab of their own.
 */
function RemoteImage({ address, alt }: RemoteImageProps) {
  const [wanted, setWanted] = useState(false);
  const url = safeUrl(address);
  if (!url || url.protocol === "mailto:") return <>{alt}</>;
  const isOwn = url.origin === location.origin;
  const host = hostOf(url);
  const label = (
    <>
      <Image aria-hidden="true" className="size-4 shrink-0" />
      <span>{isOwn ? t("chat.image.load", { host }) : t("chat.image.open", { host })}</span>
      {alt !== "" && <span className="text-ink">{alt}</span>}
    </>
  );
  if (!isOwn) {
    return (
      <a href={url.href} target="_blank" rel="noopener noreferrer" className={IMAGE_BUTTON}>
        {label}
      </a>
    );
  }
  if (wanted) {
    return (
      <img src={url.href} alt={alt} referrerPolicy="no-referrer" className="max-h-96 max-w-full rounded-md" />
    );
  }
  return (
    <button type="button" onClick={() => setWanted(true)} className={IMAGE_BUTTON}>
      {label}
    </button>
  );
}
