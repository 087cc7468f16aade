import { useMemo } from "react";
import { PreviewButton } from "@/components/preview/preview-button";
import { isObject, stringifyJson } from "@/lib/json";
import { lazyModule } from "@/markdown/lazy-module";
import { jsonIn } from "./readable";
import { JsonText, TextBlock } from "./text-block";

const useJsonTree = lazyModule(() => import("@/components/json-tree/json-tree-view"));

interface FileTextProps {
  text: string;
  mimeType: string;
  /** Name of the file. */
  name: string;
}

/** Text of a file with its preview; as a tree if it is JSON. */
export function FileText({ text, mimeType, name }: FileTextProps) {
  const value = useMemo(() => jsonIn(text), [text]);
  if (value !== undefined) return <JsonBlock value={value} name={name} />;
  return (
    <>
      <PreviewButton type={mimeType} text={text} name={name} />
      <TextBlock text={text} />
    </>
  );
}

/** Text of a tool; as a tree if it is JSON. */
export function TextOrJson({ text }: { text: string }) {
  const value = useMemo(() => jsonIn(text), [text]);
  return value === undefined ? <TextBlock text={text} /> : <JsonBlock value={value} />;
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
  if (!tree) return <JsonText value={value} />;
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] gap-1.5">
      <PreviewButton type="json" text={() => stringifyJson(value, 2)} {...(name !== undefined && { name })} />
      <tree.JsonTreeView value={value} />
    </div>
  );
}
