//! Pictures of servers and their things, by the protocol's rules: only `https:` addresses at the server's own origin or
//! the picture itself as `data:`; fetched without credentials, not beyond a redirect to elsewhere, not beyond a size; and
//! shown only if the first bytes are those of a raster format. A drawing (SVG) can hold a program and is never passed on.

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
use crate::transport::answer;

/// Icons of one thing that are kept: a light and a dark one, each in two sizes.
const KEPT: usize = 4;
/// Characters of an address.
const ADDRESS: usize = 2_048;
/// Characters of a picture that comes in a list. Lists of tools are told to pages whole, again and again.
const INLINE: usize = 16 * 1024;
/// Bytes of a picture that is fetched. Icons have a few thousand.
const BYTES: usize = 256 * 1024;
/// For fetching one.
const FETCH: Duration = Duration::from_secs(10);

/// A picture that may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// What its first bytes say that it is.
    pub mime_type: &'static str,
    /// The file.
    pub bytes: Bytes,
}

/// Why a picture is not shown.
#[derive(Debug, Clone, thiserror::Error)]
pub enum IconError {
    /// The protocol's rules forbid to fetch it.
    #[error("an icon has to be at https: and at the server's own origin")]
    Forbidden,
    /// What came is no picture that may be shown.
    #[error("the icon is no PNG, JPEG, WebP or GIF")]
    NotAPicture,
    /// It could not be fetched.
    #[error("the icon's server {0}")]
    Server(#[from] Error),
}

/// Leaves the icons that may be shown, and of those the first few.
pub(crate) fn keep_usable(icons: &mut Vec<Icon>, server: &Url) {
    icons.retain(|icon| is_usable(&icon.src, server));
    icons.truncate(KEPT);
}

fn is_usable(src: &str, server: &Url) -> bool {
    if src.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return src.len() <= INLINE && inline(src).is_some();
    }
    permitted(src, server).is_some()
}

/// The picture in a `data:` address. What it says of its kind has to be true: a browser goes by that.
fn inline(src: &str) -> Option<Picture> {
    let (kind, data) = src.get(5..)?.split_once(',')?;
    let kind = kind.strip_suffix(";base64")?;
    let bytes: Bytes = STANDARD.decode(data).ok()?.into();
    let mime_type = picture_type(&bytes)?;
    mime_type.eq_ignore_ascii_case(kind).then_some(Picture { mime_type, bytes })
}

/// The address of a picture, if it may be fetched for this server.
fn permitted(src: &str, server: &Url) -> Option<Url> {
    let url = Url::parse(src).ok().filter(|url| src.len() <= ADDRESS && url.scheme() == "https")?;
    let mut origin = server.clone();
    // A WebSocket's origin is that of its handshake.
    if server.scheme() == "wss" {
        origin.set_scheme("https").ok()?;
    }
    let plain = url.username().is_empty() && url.password().is_none();
    (plain && url.origin() == origin.origin()).then_some(url)
}

/// Fetches a picture of a server.
pub(crate) async fn fetch(guard: &GuardedHttp, server: &Url, src: &str) -> Result<Picture, IconError> {
    let url = permitted(src, server).ok_or(IconError::Forbidden)?;
    download(guard, &url).await
}

async fn download(guard: &GuardedHttp, url: &Url) -> Result<Picture, IconError> {
    let http = guard.client_for(url)?;
    let work = async {
        let response =
            http.get(url.clone()).header(ACCEPT, "image/png, image/jpeg, image/webp, image/gif").send().await;
        let response = response.map_err(|error| Error::from_http(&error))?;
        let status = response.status();
        if status.is_redirection() {
            return Err(Error::Redirected(String::new()));
        }
        if !status.is_success() {
            return Err(Error::Status { status: status.as_u16() });
        }
        answer::body(response, BYTES).await
    };
    let bytes = tokio::time::timeout(FETCH, work).await.unwrap_or(Err(Error::Timeout(FETCH)))?;
    let mime_type = picture_type(&bytes).ok_or(IconError::NotAPicture)?;
    Ok(Picture { mime_type, bytes })
}

#[cfg(test)]
mod tests;
