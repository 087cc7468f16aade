//! The tool that lists and searches files.

use domain::UserId;
use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::json;

use super::{DriveError, File, GoogleDrive, MAX_DOCUMENT_BYTES, checked_id};

/// Maximum number of files per page.
pub const MAX_PAGE_SIZE: u32 = 100;
/// Default number of files per page.
const DEFAULT_PAGE_SIZE: u32 = 25;
/// Fields of the response.
const RESPONSE_FIELDS: &str = "nextPageToken,files(id,name,mimeType,modifiedTime,size,webViewLink)";

/// Arguments of the tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListFiles {
    query: Option<String>,
    #[serde(alias = "folderId")]
    folder_id: Option<String>,
    #[serde(alias = "pageSize")]
    page_size: Option<u32>,
    #[serde(alias = "pageToken")]
    page_token: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Page {
    #[serde(default)]
    files: Vec<File>,
    next_page_token: Option<String>,
}

impl GoogleDrive {
    /// Lists or searches files. The result has a line per file, and the same as structured content.
    pub(in super::super) async fn list_files(&self, user: UserId, input: ListFiles) -> Result<ToolResult, DriveError> {
        let words = input.query.as_deref().map(str::trim).filter(|words| !words.is_empty());
        let folder = input.folder_id.as_deref().filter(|id| !id.trim().is_empty());
        let folder = folder.map(|id| checked_id("folder", id)).transpose()?;
        let mut url = self.api_url(&["drive", "v3", "files"])?;
        // Clamped instead of rejected: a model that asks for more gets a page and a token for the next one.
        let page_size = input.page_size.unwrap_or(DEFAULT_PAGE_SIZE).clamp(1, MAX_PAGE_SIZE);
        url.query_pairs_mut()
            .append_pair("q", &search_query(words, folder))
            .append_pair("pageSize", &page_size.to_string())
            .append_pair("fields", RESPONSE_FIELDS)
            .append_pair("supportsAllDrives", "true")
            .append_pair("includeItemsFromAllDrives", "true");
        // The API rejects an order together with a full-text search.
        if words.is_none() {
            url.query_pairs_mut().append_pair("orderBy", "modifiedTime desc");
        }
        if let Some(token) = input.page_token.as_deref().filter(|token| !token.is_empty()) {
            url.query_pairs_mut().append_pair("pageToken", token);
        }
        let response = self.request(user, MAX_DOCUMENT_BYTES, |client| client.get(url.clone())).await?;
        let page: Page = response.json()?;
        let text = describe_page(&page);
        let structured = json!({ "files": page.files, "nextPageToken": page.next_page_token });
        Ok(ToolResult { structured_content: Some(structured), ..ToolResult::text(text) })
    }
}

/// Returns a query in the API's query language.
fn search_query(words: Option<&str>, folder: Option<&str>) -> String {
    let mut terms = vec!["trashed = false".to_owned()];
    if let Some(words) = words {
        // `fullText` matches whole words only, and `name` the beginnings of words (search guide of the Drive API).
        let words = quoted(words);
        terms.push(format!("(name contains {words} or fullText contains {words})"));
    }
    if let Some(folder) = folder {
        terms.push(format!("{} in parents", quoted(folder)));
    }
    terms.join(" and ")
}

/// Returns a string literal of the query language. Quotes in the text are escaped, so that it cannot end early.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Describes the files in one line each.
fn describe_page(page: &Page) -> String {
    if page.files.is_empty() {
        return "No files were found.".into();
    }
    let mut lines: Vec<String> = page
        .files
        .iter()
        .map(|file| {
            // The date of an RFC 3339 time.
            let changed = file.modified_time.as_deref().and_then(|time| time.get(..10));
            let changed = changed.map(|day| format!(", changed {day}")).unwrap_or_default();
            format!("- {} ({}{changed}), id {}", file.name, file.type_name(), file.id)
        })
        .collect();
    if let Some(token) = &page.next_page_token {
        lines.push(format!("There are more: page_token {token}"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn query_contains_words_and_folder() {
        assert_eq!(search_query(None, None), "trashed = false");
        assert_eq!(
            search_query(Some("it's"), Some("a1")),
            r"trashed = false and (name contains 'it\'s' or fullText contains 'it\'s') and 'a1' in parents"
        );
    }

    proptest! {
        #[test]
        fn quoted_text_cannot_end_early(text in any::<String>()) {
            let quoted = quoted(&text);
            let mut read = String::new();
            let mut chars = quoted[1..quoted.len() - 1].chars();
            while let Some(char) = chars.next() {
                prop_assert_ne!(char, '\'');
                read.push(if char == '\\' { chars.next().unwrap() } else { char });
            }
            prop_assert_eq!(read, text);
        }
    }
}
