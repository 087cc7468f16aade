import type { ToolDefinition } from "@/lib/available-tool";

/** The built-in tools that stand in when a server offers none, for when not even the proxy could name them. */
export const fallbackTools: readonly ToolDefinition[] = [
  {
    name: "google_drive_list_files",
    description: "Lists files in your Google Drive.",
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words to look for; without them, the latest files." },
        folderId: { type: "string", description: "Only files in this folder." },
      },
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: "google_drive_read_file",
    description: "Reads a file of your Google Drive.",
    inputSchema: {
      type: "object",
      properties: { fileId: { type: "string", description: "The file's id." } },
      required: ["fileId"],
    },
    annotations: { readOnlyHint: true, openWorldHint: true },
  },
  {
    name: "google_drive_create_file",
    description: "Creates a file in your Google Drive.",
    inputSchema: {
      type: "object",
      properties: {
        name: { type: "string", description: "The file's name." },
        content: { type: "string", description: "The file's text." },
        mimeType: { type: "string", description: "The file's type.", default: "text/plain" },
        folderId: { type: "string", description: "The folder to create it in." },
      },
      required: ["name", "content"],
    },
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  },
];
