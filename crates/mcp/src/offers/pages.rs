//! Lists that come in pages.

use domain::icon::Icon;
use rmcp::model::{
    ClientRequest, ErrorCode, ListPromptsRequest, ListResourceTemplatesRequest, ListResourcesRequest,
    PaginatedRequestParams, ServerCapabilities,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Listing, ask, read};
use crate::connection::Inner;
use crate::{Error, icons};

/// Pages of the smallest sensible size fit many times; a server that needs more is turning in a circle.
const PAGES: usize = 200;
/// Entries that are read of a list, far more than a person looks through.
const ENTRIES: usize = 2_000;
/// Bytes of them. Lists are told to the page whole.
const BYTES: usize = 8 * 1024 * 1024;

/// A list that servers have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum List {
    Prompts,
    Resources,
    Templates,
}

impl List {
    fn is_offered(self, capabilities: &ServerCapabilities) -> bool {
        match self {
            Self::Prompts => capabilities.prompts.is_some(),
            Self::Resources | Self::Templates => capabilities.resources.is_some(),
        }
    }

    fn field(self) -> &'static str {
        match self {
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    fn request(self, cursor: Option<String>) -> ClientRequest {
        let params = PaginatedRequestParams::default().with_cursor(cursor);
        match self {
            Self::Prompts => ListPromptsRequest::with_param(params).into(),
            Self::Resources => ListResourcesRequest::with_param(params).into(),
            Self::Templates => ListResourceTemplatesRequest::with_param(params).into(),
        }
    }
}

/// What stands in one of the lists.
pub(crate) trait Listed: DeserializeOwned {
    /// In which.
    const LIST: List;

    /// Its pictures.
    fn icons(&mut self) -> &mut Vec<Icon>;
}

/// All pages of a list; nothing where the server does not have it. What cannot be read in it is left out: one bad thing is
/// no reason to lose the others. So are pictures that may not be shown.
pub(crate) async fn all<T: Listed>(connection: &Inner) -> Result<Listing<T>, Error> {
    let (list, mut listing) = (T::LIST, Listing::default());
    if !list.is_offered(&connection.capabilities) {
        return Ok(listing);
    }
    let (mut bytes, mut cursor) = (0, None);
    for _ in 0..PAGES {
        let answer = match ask::once(connection, list.request(cursor.take())).await {
            // Servers with resources need not know templates.
            Err(Error::Server { code, .. })
                if code == i64::from(ErrorCode::METHOD_NOT_FOUND.0) && matches!(list, List::Templates) =>
            {
                return Ok(listing);
            }
            answer => answer?,
        };
        let mut page = ask::json(&answer)?;
        let Some(Value::Array(items)) = page.get_mut(list.field()).map(Value::take) else {
            return Err(Error::Protocol(format!("its list of {} cannot be read", list.field())));
        };
        for item in items {
            bytes += item.to_string().len();
            if bytes > BYTES || listing.items.len() == ENTRIES {
                listing.is_cut = true;
                return Ok(listing);
            }
            if let Some(mut item) = read::<T>(item) {
                icons::keep_usable(item.icons(), &connection.url);
                listing.items.push(item);
            }
        }
        match page.get("nextCursor").and_then(Value::as_str) {
            Some(next) => cursor = Some(next.to_owned()),
            None => return Ok(listing),
        }
    }
    listing.is_cut = true;
    Ok(listing)
}
