//! Responses: rows as an array or as one object, and their range and total.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, StatusCode, header};
use postgrest::PgError;
use postgrest::request::ResultFormat;

// PostgREST's media types, which the official client compares.
const LIST_MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/json; charset=utf-8");
const OBJECT_MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/vnd.pgrst.object+json; charset=utf-8");

/// A successful response.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    /// Value of `Content-Range`.
    pub(super) range: String,
    /// Value of `Preference-Applied`.
    pub(super) applied: Option<String>,
    /// Value of `Location`.
    pub(super) location: Option<String>,
    /// Rows, each a JSON object. `None` for a response without a body.
    pub(super) rows: Option<Vec<String>>,
    pub(super) form: ResultFormat,
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = Response::new(match &self.rows {
            None => Body::empty(),
            Some(rows) if self.form == ResultFormat::Object => Body::from(rows.concat()),
            Some(rows) => Body::from(format!("[{}]", rows.join(","))),
        });
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if self.rows.is_some() {
            headers.insert(
                header::CONTENT_TYPE,
                if self.form == ResultFormat::Object { OBJECT_MEDIA_TYPE } else { LIST_MEDIA_TYPE },
            );
        }
        let applied = HeaderName::from_static("preference-applied");
        let texts =
            [(header::CONTENT_RANGE, Some(self.range)), (applied, self.applied), (header::LOCATION, self.location)];
        for (name, text) in texts {
            // The values consist of our own ASCII text, so the conversion does not fail.
            if let Some(value) = text.and_then(|text| HeaderValue::try_from(text).ok()) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// Responds to `OPTIONS` with the methods of a table.
pub(super) fn options() -> Response {
    let allow = HeaderValue::from_static("OPTIONS,GET,HEAD,POST,PATCH,DELETE");
    (StatusCode::OK, [(header::ALLOW, allow)]).into_response()
}

/// Returns the status of a page: 200 for all rows, 206 for a part of them.
///
/// # Errors
///
/// The offset is beyond the last row.
pub(super) fn page_status(offset: u64, rows: usize, total: Option<u64>) -> Result<StatusCode, PgError> {
    match total {
        Some(total) if offset > total => Err(PgError::new("PGRST103", "Requested range not satisfiable")
            .with_details(format!("An offset of {offset} was requested, but there are only {total} rows."))),
        Some(total) if (rows as u64) < total => Ok(StatusCode::PARTIAL_CONTENT),
        _ => Ok(StatusCode::OK),
    }
}

/// Formats `Content-Range`: `0-9/*`, `*/*` or `0-9/25`.
pub(super) fn range(offset: u64, rows: usize, total: Option<u64>) -> String {
    let total = total.map_or_else(|| "*".to_owned(), |total| total.to_string());
    match rows as u64 {
        0 => format!("*/{total}"),
        rows => format!("{offset}-{}/{total}", offset + rows - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_and_their_ranges() {
        assert_eq!(range(0, 10, None), "0-9/*");
        assert_eq!(range(5, 2, Some(7)), "5-6/7");
        assert_eq!(range(0, 0, None), "*/*");
        assert_eq!(page_status(0, 0, Some(0)).unwrap(), 200);
        assert_eq!(page_status(5, 2, Some(7)).unwrap(), 206);
        assert_eq!(page_status(7, 0, Some(7)).unwrap(), 206);
        assert_eq!(page_status(8, 0, Some(7)).unwrap_err().code, "PGRST103");
        assert_eq!(page_status(8, 0, None).unwrap(), 200);
    }
}
