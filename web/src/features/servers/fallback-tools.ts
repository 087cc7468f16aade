import type { ToolAnnotations, ToolDefinition } from "@/lib/available-tool";

/**
 * Definitions of the fallback tools, for when the proxy cannot provide them. They equal those of `/mcp/google-drive`.
 */
export const fallbackTools: readonly ToolDefinition[] = [
  {
    name: "google_drive_list_files",
    title: "List Google Drive files",
    description:
      "Lists or searches files in your Google Drive, with the id of each. Without a query, the latest files.",
    inputSchema: objectOf({
      query: { type: "string", description: "Words to look for in names and contents." },
      folder_id: {
        type: "string",
        description: "Only files in the folder with this id; root is the top.",
      },
      page_size: { type: "integer", minimum: 1, maximum: 100, default: 25 },
      page_token: { type: "string", description: "From the previous answer, for the files after it." },
    }),
    annotations: behaviour(true),
  },
  {
    name: "google_drive_read_file",
    title: "Read a Google Drive file",
    description:
      "Reads the text of a file in your Google Drive. Google Docs come as Markdown, Sheets as CSV, Slides as plain text.",
    inputSchema: objectOf(
      { file_id: { type: "string", description: "The id of the file, from google_drive_list_files." } },
      ["file_id"],
    ),
    annotations: behaviour(true),
  },
  {
    name: "google_drive_create_file",
    title: "Create a Google Drive file",
    description: "Creates a text file in your Google Drive.",
    inputSchema: objectOf(
      {
        name: { type: "string", description: "The name of the file, such as notes.txt." },
        content: { type: "string", description: "The text of the file." },
        mime_type: {
          type: "string",
          description:
            "The type, such as text/markdown; application/vnd.google-apps.document makes a Google Doc.",
          default: "text/plain",
        },
        folder_id: { type: "string", description: "The id of the folder to create it in." },
      },
      ["name", "content"],
    ),
    annotations: behaviour(false),
  },
];

function objectOf(properties: Readonly<Record<string, object>>, required: readonly string[] = []): object {
  return { type: "object", properties, required, additionalProperties: false };
}

function behaviour(readsOnly: boolean): ToolAnnotations {
  return {
    readOnlyHint: readsOnly,
    destructiveHint: false,
    idempotentHint: readsOnly,
    openWorldHint: true,
  };
}
