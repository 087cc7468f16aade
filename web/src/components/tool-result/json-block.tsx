import { useMemo } from "react";
import { PreviewButton } from "@/components/preview/preview-button";
import { isObject, stringifyJson } from "@/lib/json";
import { lazyModule } from "@/markdown/lazy-module";
import { jsonIn } from "./readable";
import { JsonText, TextBlock } from "./text-block";

const useJsonTree = lazyModule(() => import("@/components/json-tree/json-tree-view"));

interface TextOrJsonProps {
  text: string;
  /** Name of the file. */
  name?: string;
}

/** Text of a tool; as a tree if it is JSON. */
export function TextOrJson({ text, name }: TextOrJsonProps) {
  const value = useMemo(() => jsonIn(text), [text]);
  if (value === undefined) return <TextBlock text={text} />;
  return <JsonBlock value={value} {...(name !== undefined && { name })} />;
}

interface JsonBlockProps {
  value: unknown;
  /** Name of the file. */
  name?: string;
}

/** JSON as a tree with a preview; as text until the tree has been loaded, and if there is nothing to open. */
export function JsonBlock({ value, name }: JsonBlockProps) {
  const isTree = Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
  const tree = useJsonTree(isTree);
  const text = useMemo(() => (isTree ? stringifyJson(value, 2) : ""), [isTree, value]);
  if (!tree) return <JsonText value={value} />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1.5">
      <PreviewButton type="json" text={text} {...(name !== undefined && { name })} />
      <tree.JsonTreeView value={value} />
    </div>
  );
}
