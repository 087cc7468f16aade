import { useMemo } from "react";
import { isObject } from "@/lib/json";
import { lazyModule } from "@/markdown/lazy-module";
import { jsonIn } from "./readable";
import { JsonText, TextBlock } from "./text-block";

const useJsonTree = lazyModule(() => import("@/components/json-tree/json-tree-view"));

/** Text of a tool; as a tree if it is JSON. */
export function TextOrJson({ text }: { text: string }) {
  const value = useMemo(() => jsonIn(text), [text]);
  return value === undefined ? <TextBlock text={text} /> : <JsonBlock value={value} />;
}

/** JSON as a tree; as text until the tree has been loaded, and if there is nothing to open. */
export function JsonBlock({ value }: { value: unknown }) {
  const isTree = Array.isArray(value) ? value.length > 0 : isObject(value) && Object.keys(value).length > 0;
  const tree = useJsonTree(isTree);
  return tree ? <tree.JsonTreeView value={value} /> : <JsonText value={value} />;
}
