/** One piece of what a tool answers, as MCP defines it. */
export type ContentItem =
  | { type: "text"; text: string }
  | { type: "image"; data: string; mimeType: string }
  | { type: "audio"; data: string; mimeType: string }
  | { type: "resource"; resource: { uri: string; mimeType?: string; text?: string; blob?: string } }
  | { type: "resource_link"; uri: string; name?: string; title?: string; description?: string };

/** What a tool answers. */
export interface ToolResultContent {
  content: readonly ContentItem[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** Text that is JSON, set out to be read; any other text as it is. */
export function readableText(text: string): string {
  if (!/^\s*[[{]/u.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Whether the structured content only repeats what the text already says, as servers do for older clients. */
export function repeatsText({ content, structuredContent }: ToolResultContent): boolean {
  const structured = JSON.stringify(structuredContent);
  return content.some((item) => {
    if (item.type !== "text") return false;
    try {
      return JSON.stringify(JSON.parse(item.text)) === structured;
    } catch {
      return false;
    }
  });
}
