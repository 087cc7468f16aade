//! Paginated lists of prompts, resources and resource templates.

use domain::icon::Icon;
use rmcp::model::{
    ClientRequest, ErrorCode, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    PaginatedRequestParams, ServerCapabilities,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::read_lenient;
use crate::input_required::result_to_json;
use crate::session::Session;
use crate::{Error, icons};

/// Maximum number of pages. Pages of any sensible size stay far below; a server that needs more repeats its cursors.
const MAX_PAGES: usize = 200;
/// Maximum number of entries, far more than a user looks through.
const MAX_ENTRIES: usize = 2_000;
/// Maximum size of all entries as JSON. The web app receives a list whole.
const MAX_LIST_BYTES: usize = 8 * 1024 * 1024;

/// List of a server, in the server's order.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Listing<T> {
    /// Entries.
    pub items: Vec<T>,
    /// Set if the server has more entries than are read.
    pub is_cut: bool,
}

impl<T> Default for Listing<T> {
    fn default() -> Self {
        Self { items: Vec::new(), is_cut: false }
    }
}

/// Kind of a list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ListKind {
    Prompts,
    Resources,
    ResourceTemplates,
}

impl ListKind {
    fn is_offered(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources | Self::ResourceTemplates => capabilities.resources.is_some(),
        }
    }

    /// Returns the field of the result that holds the entries.
    fn result_field(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::ResourceTemplates => "resourceTemplates",
        }
    }

    fn page_request(self, cursor: Option<String>) -> ClientRequest {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            Self::Prompts => ListPromptsRequest::with_param(params).into(),
            Self::Resources => ListResourcesRequest::with_param(params).into(),
            Self::ResourceTemplates => ListResourceTemplatesRequest::with_param(params).into(),
        }
    }
}

/// Entry of a list.
pub(crate) trait ListEntry: DeserializeOwned {
    /// List that the entry belongs to.
    const LIST: ListKind;

    /// Returns the icons of the entry, for filtering.
    fn icons_mut(&mut self) -> &mut Vec<Icon>;
}

/// Reads all pages of a list; empty if the server does not offer it.
///
/// Entries that cannot be read are left out, so that one bad entry does not cost the others, and so are icons that may
/// not be shown.
pub(crate) async fn list_all<T: ListEntry>(session: &Session) -> Result<Listing<T>, Error> {
    let (list, mut listing) = (T::LIST, Listing::default());
    if !list.is_offered(&session.capabilities) {
        return Ok(listing);
    }
    let (mut bytes, mut cursor) = (0, None);
    for _ in 0..MAX_PAGES {
        let result = match session.request(list.page_request(cursor.take())).await {
            // Servers with resources need not know templates: there is no capability for them.
            Err(Error::Server { code, .. })
                if code == i64::from(ErrorCode::METHOD_NOT_FOUND.0) && matches!(list, ListKind::ResourceTemplates) =>
            {
                return Ok(listing);
            }
            result => result?,
        };
        let mut page = result_to_json(&result)?;
        let Some(Value::Array(entries)) = page.get_mut(list.result_field()).map(Value::take) else {
            return Err(Error::Protocol(format!("its list of {} cannot be read", list.result_field())));
        };
        for entry in entries {
            bytes += entry.to_string().len();
            if bytes > MAX_LIST_BYTES || listing.items.len() == MAX_ENTRIES {
                listing.is_cut = true;
                return Ok(listing);
            }
            if let Some(mut entry) = read_lenient::<T>(entry) {
                icons::retain_usable(entry.icons_mut(), &session.url);
                listing.items.push(entry);
            }
        }
        match page.get("nextCursor").and_then(Value::as_str) {
            // An empty cursor is valid ("Pagination"); only its absence ends the list.
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(listing),
        }
    }
    listing.is_cut = true;
    Ok(listing)
}
