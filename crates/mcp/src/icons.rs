//! Icons of servers, tools, prompts and resources, by the rules of 2025-11-25 ("Icons", "Security Considerations").
//!
//! An icon is an `https:` address at the server's own origin, or a `data:` address. It is fetched without credentials,
//! without redirects to other origins and up to a maximum size, and shown only if its first bytes are those of a raster
//! format. An SVG can hold a script and is never passed on.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use domain::icon::Icon;
use domain::model::picture_type;
use http::header::ACCEPT;
use url::Url;

use crate::Error;
use crate::net::GuardedHttp;
use crate::transport::http_response;

/// Maximum number of icons per object: a light and a dark one, each in two sizes.
const MAX_ICONS: usize = 4;
/// Maximum length of an `https:` address.
const MAX_URL_BYTES: usize = 2_048;
/// Maximum length of a `data:` address. The web app receives lists of tools whole and often.
const MAX_DATA_URL_BYTES: usize = 16 * 1024;
/// Maximum size of a fetched icon; real ones have a few thousand bytes.
const MAX_ICON_BYTES: usize = 256 * 1024;
/// Time limit for fetching an icon.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);

/// Image that may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IconImage {
    /// Media type, as the first bytes show.
    pub mime_type: &'static str,
    /// Content of the file.
    pub bytes: Bytes,
}

/// Reason why an icon is not shown.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IconError {
    /// The address is not permitted.
    #[error("an icon must use https and the server's own origin")]
    Forbidden,
    /// The content is not an image that may be shown.
    #[error("the icon is not a PNG, JPEG, WebP or GIF image")]
    NotAnImage,
    /// The icon could not be fetched.
    #[error("the icon's server {0}")]
    Server(#[from] Error),
}

/// Removes the icons that may not be shown, and those beyond the maximum number.
pub(crate) fn retain_usable(icons: &mut Vec<Icon>, server: &Url) {
    icons.retain(|icon| is_usable(&icon.src, server));
    icons.truncate(MAX_ICONS);
}

fn is_usable(src: &str, server: &Url) -> bool {
    if src.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return src.len() <= MAX_DATA_URL_BYTES && decode_data_url(src).is_some();
    }
    permitted_url(src, server).is_some()
}

/// Decodes the image in a `data:` address. Its media type has to be that of the content, because a browser trusts it.
fn decode_data_url(src: &str) -> Option<IconImage> {
    let (kind, data) = src.get(5..)?.split_once(',')?;
    let kind = kind.strip_suffix(";base64")?;
    let bytes: Bytes = STANDARD.decode(data).ok()?.into();
    let mime_type = picture_type(&bytes)?;
    mime_type.eq_ignore_ascii_case(kind).then_some(IconImage { mime_type, bytes })
}

/// Returns the address of an icon, if it may be fetched for this server.
fn permitted_url(src: &str, server: &Url) -> Option<Url> {
    let url = Url::parse(src).ok().filter(|url| src.len() <= MAX_URL_BYTES && url.scheme() == "https")?;
    let mut origin = server.clone();
    // The origin of a WebSocket is that of its HTTP handshake.
    if server.scheme() == "wss" {
        origin.set_scheme("https").ok()?;
    }
    let has_no_credentials = url.username().is_empty() && url.password().is_none();
    (has_no_credentials && url.origin() == origin.origin()).then_some(url)
}

/// Fetches an icon of a server.
pub(crate) async fn fetch_icon(guard: &GuardedHttp, server: &Url, src: &str) -> Result<IconImage, IconError> {
    let url = permitted_url(src, server).ok_or(IconError::Forbidden)?;
    download_image(guard, &url).await
}

/// Downloads an image and checks its content.
async fn download_image(guard: &GuardedHttp, url: &Url) -> Result<IconImage, IconError> {
    let http = guard.client_for(url)?;
    let work = async {
        let response =
            http.get(url.clone()).header(ACCEPT, "image/png, image/jpeg, image/webp, image/gif").send().await;
        // The client follows 307 and 308 within the origin; the rules for icons forbid other origins.
        http_response::read_success(response.map_err(|error| Error::from_http(&error))?, MAX_ICON_BYTES).await
    };
    let bytes = tokio::time::timeout(FETCH_TIMEOUT, work).await.unwrap_or(Err(Error::Timeout(FETCH_TIMEOUT)))?;
    // By the content and not by the header: browsers guess the type of a file whose header is wrong.
    let mime_type = picture_type(&bytes).ok_or(IconError::NotAnImage)?;
    Ok(IconImage { mime_type, bytes })
}

#[cfg(test)]
mod tests;
