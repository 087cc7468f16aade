//! Listing and searching.

use domain::UserId;
use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::json;

use super::{DriveError, File, MAX_DOCUMENT, address, ask, id};
use crate::app::App;

/// The most files of one page.
pub const MAX_PAGE: u32 = 100;
const DEFAULT_PAGE: u32 = 25;
const FIELDS: &str = "nextPageToken,files(id,name,mimeType,modifiedTime,size,webViewLink)";

/// What the tool takes.
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

/// A line for each file, and the same for programs.
pub async fn list(app: &App, user: UserId, input: ListFiles) -> Result<ToolResult, DriveError> {
    let words = input.query.as_deref().map(str::trim).filter(|words| !words.is_empty());
    let folder =
        input.folder_id.as_deref().filter(|id| !id.trim().is_empty()).map(|said| id("folder", said)).transpose()?;
    let mut url = address(app, &["drive", "v3", "files"])?;
    url.query_pairs_mut()
        .append_pair("q", &search(words, folder))
        .append_pair("pageSize", &input.page_size.unwrap_or(DEFAULT_PAGE).clamp(1, MAX_PAGE).to_string())
        .append_pair("fields", FIELDS)
        .append_pair("supportsAllDrives", "true")
        .append_pair("includeItemsFromAllDrives", "true");
    // The API refuses to order what it finds by content.
    if words.is_none() {
        url.query_pairs_mut().append_pair("orderBy", "modifiedTime desc");
    }
    if let Some(token) = input.page_token.as_deref().filter(|token| !token.is_empty()) {
        url.query_pairs_mut().append_pair("pageToken", token);
    }
    let page: Page = ask(app, user, MAX_DOCUMENT, |client| client.get(url.clone())).await?.read()?;
    let text = describe(&page);
    let structured = json!({ "files": page.files, "nextPageToken": page.next_page_token });
    Ok(ToolResult { structured_content: Some(structured), ..ToolResult::text(text) })
}

/// A search in the API's own language.
fn search(words: Option<&str>, folder: Option<&str>) -> String {
    let mut terms = vec!["trashed = false".to_owned()];
    if let Some(words) = words {
        let words = quoted(words);
        terms.push(format!("(name contains {words} or fullText contains {words})"));
    }
    if let Some(folder) = folder {
        terms.push(format!("{} in parents", quoted(folder)));
    }
    terms.join(" and ")
}

/// A text of the search language, which nothing in it can end.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

fn describe(page: &Page) -> String {
    if page.files.is_empty() {
        return "No files were found.".into();
    }
    let mut lines: Vec<String> = page
        .files
        .iter()
        .map(|file| {
            let changed = file.modified_time.as_deref().and_then(|time| time.get(..10));
            let changed = changed.map(|day| format!(", changed {day}")).unwrap_or_default();
            format!("- {} ({}{changed}), id {}", file.name, file.kind(), file.id)
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
    fn a_search_names_the_words_and_the_folder() {
        assert_eq!(search(None, None), "trashed = false");
        assert_eq!(
            search(Some("it's"), Some("a1")),
            r"trashed = false and (name contains 'it\'s' or fullText contains 'it\'s') and 'a1' in parents"
        );
    }

    proptest! {
        #[test]
        fn nothing_ends_a_quoted_text(text in any::<String>()) {
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
