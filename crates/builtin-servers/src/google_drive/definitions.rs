//! Definitions of the tools.

use domain::tool::{ToolAnnotations, ToolDefinition, ToolMeta};
use domain::tool_arguments;
use serde_json::{Value, json};

use super::files::MAX_PAGE_SIZE;

/// Returns the three tools in the order in which they are listed.
pub fn definitions() -> Vec<ToolDefinition> {
    vec![
        definition(
            "google_drive_list_files",
            "List Google Drive files",
            "Lists or searches files in your Google Drive, with the id of each. Without a query, the latest files.",
            json!({
                "query": { "type": "string", "description": "Words to look for in names and contents." },
                "folder_id": { "type": "string", "description": "Only files in the folder with this id; root is the top." },
                "page_size": { "type": "integer", "minimum": 1, "maximum": MAX_PAGE_SIZE, "default": 25 },
                "page_token": { "type": "string", "description": "From the previous answer, for the files after it." },
            }),
            &[],
            true,
        ),
        definition(
            "google_drive_read_file",
            "Read a Google Drive file",
            "Reads the text of a file in your Google Drive. Google Docs come as Markdown, Sheets as CSV, Slides as plain text.",
            json!({ "file_id": { "type": "string", "description": "The id of the file, from google_drive_list_files." } }),
            &["file_id"],
            true,
        ),
        definition(
            "google_drive_create_file",
            "Create a Google Drive file",
            "Creates a text file in your Google Drive.",
            json!({
                "name": { "type": "string", "description": "The name of the file, such as notes.txt." },
                "content": { "type": "string", "description": "The text of the file." },
                "mime_type": {
                    "type": "string",
                    "description": "The type, such as text/markdown; application/vnd.google-apps.document makes a Google Doc.",
                    "default": "text/plain",
                },
                "folder_id": { "type": "string", "description": "The id of the folder to create it in." },
            }),
            &["name", "content"],
            false,
        ),
    ]
}

fn definition(
    name: &str,
    title: &str,
    description: &str,
    properties: Value,
    required: &[&str],
    is_read_only: bool,
) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        title: Some(title.into()),
        description: description.into(),
        input_schema: tool_arguments::object_schema(properties, required),
        output_schema: None,
        annotations: Some(ToolAnnotations {
            title: Some(title.into()),
            read_only_hint: Some(is_read_only),
            destructive_hint: Some(false),
            // Drive allows several files of one name: the same call creates another file.
            idempotent_hint: Some(is_read_only),
            open_world_hint: Some(true),
        }),
        icons: Vec::new(),
        meta: ToolMeta::default(),
    }
}
