import type { AvailableTool } from "@/lib/available-tool";

/** Returns the tools that contain every word of the query in their name, description or server. */
export function findTools(tools: readonly AvailableTool[], query: string): readonly AvailableTool[] {
  const words = query.toLowerCase().split(/\s+/u).filter(Boolean);
  if (words.length === 0) return tools;
  return tools.filter((tool) => {
    const text = `${tool.name} ${tool.description} ${tool.serverName}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
