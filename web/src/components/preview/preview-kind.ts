import type { PreviewKind } from "@/lib/open-preview";

const KINDS: ReadonlyMap<string, PreviewKind> = new Map([
  ["html", "html"],
  ["htm", "html"],
  ["text/html", "html"],
  ["svg", "svg"],
  ["image/svg+xml", "svg"],
  ["markdown", "markdown"],
  ["md", "markdown"],
  ["text/markdown", "markdown"],
  ["csv", "csv"],
  ["text/csv", "csv"],
  ["json", "json"],
  ["application/json", "json"],
]);

/** Returns the kind of preview that a language or a MIME type has. */
export function previewKind(type: string): PreviewKind | undefined {
  return KINDS.get(type.split(";")[0]?.trim().toLowerCase() ?? "");
}
