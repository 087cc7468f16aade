//! Request headers that determine the response: `Prefer`, `Accept` and the schema.

use crate::PgError;
use http::{HeaderMap, HeaderName, Method, header};

/// Content of the response to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReturnPreference {
    /// No body.
    Minimal,
    /// No body, but a `Location` of an inserted row.
    HeadersOnly,
    /// The written rows.
    Representation,
}

/// Treatment of existing rows by an insert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConflictResolution {
    /// They are updated.
    Merge,
    /// They stay unchanged.
    Ignore,
}

/// Method of counting rows. All are exact: a planned or estimated count would not be faster with these tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountMethod {
    /// `count=exact`.
    Exact,
    /// `count=planned`.
    Planned,
    /// `count=estimated`.
    Estimated,
}

/// Parsed `Prefer` headers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct RequestPreferences {
    /// `return`.
    pub returning: Option<ReturnPreference>,
    /// `count`.
    pub count: Option<CountMethod>,
    /// `resolution`.
    pub resolution: Option<ConflictResolution>,
    /// `missing`: whether a missing key means the default of its column instead of null.
    pub missing_is_default: Option<bool>,
    max_affected: Option<u64>,
    strict: Option<bool>,
}

impl RequestPreferences {
    /// Parses the `Prefer` headers.
    ///
    /// # Errors
    ///
    /// [`PgError`] for a preference that cannot be met, and for an unknown one with `handling=strict`.
    pub fn parse(headers: &HeaderMap) -> Result<Self, PgError> {
        let mut preferences = Self::default();
        let mut invalid = Vec::new();
        for value in headers.get_all("prefer") {
            let Ok(value) = value.to_str() else { return Err(PgError::new("PGRST100", "Prefer is not ASCII")) };
            for preference in value.split(',').map(str::trim).filter(|preference| !preference.is_empty()) {
                if !preferences.take(preference)? {
                    invalid.push(preference);
                }
            }
        }
        // Unknown preferences are ignored unless the client requests strict handling.
        if preferences.strict == Some(true) && !invalid.is_empty() {
            return Err(PgError::new("PGRST122", "Invalid preferences given with handling=strict")
                .with_details(format!("Invalid preferences: {}", invalid.join(", "))));
        }
        Ok(preferences)
    }

    /// Stores a preference, and returns whether it is known. The first of several values takes precedence (RFC 7240).
    fn take(&mut self, preference: &str) -> Result<bool, PgError> {
        let (name, value) = preference.split_once('=').unwrap_or((preference, ""));
        // RFC 7240 allows a value in quotes, with the same meaning.
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        match (name, value) {
            ("return", "minimal") => first(&mut self.returning, ReturnPreference::Minimal),
            ("return", "headers-only") => first(&mut self.returning, ReturnPreference::HeadersOnly),
            ("return", "representation") => first(&mut self.returning, ReturnPreference::Representation),
            ("count", "exact") => first(&mut self.count, CountMethod::Exact),
            ("count", "planned") => first(&mut self.count, CountMethod::Planned),
            ("count", "estimated") => first(&mut self.count, CountMethod::Estimated),
            ("resolution", "merge-duplicates") => first(&mut self.resolution, ConflictResolution::Merge),
            ("resolution", "ignore-duplicates") => first(&mut self.resolution, ConflictResolution::Ignore),
            ("missing", "default") => first(&mut self.missing_is_default, true),
            ("missing", "null") => first(&mut self.missing_is_default, false),
            ("handling", "strict") => first(&mut self.strict, true),
            ("handling", "lenient") => first(&mut self.strict, false),
            // Every request commits, so this preference is met anyway.
            ("tx", "commit") => {}
            ("tx" | "timezone", _) => return Err(PgError::not_implemented(format!("the preference {name}"))),
            ("max-affected", number) => match number.parse() {
                Ok(number) => first(&mut self.max_affected, number),
                Err(_) => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the maximum number of rows that a request may change. As in PostgREST, it applies only with
    /// `handling=strict`, and not to inserts.
    pub fn max_affected(&self, method: &Method) -> Option<u64> {
        self.max_affected.filter(|_| self.strict == Some(true) && matches!(*method, Method::PATCH | Method::DELETE))
    }

    /// Returns the header `Preference-Applied` of the response; `None` if no preference was applied.
    pub fn applied(&self, method: &Method) -> Option<String> {
        let (inserts, updates) = (method == Method::POST, method == Method::PATCH);
        let writes = inserts || updates || method == Method::DELETE;
        let mut applied: Vec<String> = Vec::new();
        match self.resolution.filter(|_| inserts) {
            Some(ConflictResolution::Merge) => applied.push("resolution=merge-duplicates".into()),
            Some(ConflictResolution::Ignore) => applied.push("resolution=ignore-duplicates".into()),
            None => {}
        }
        if let Some(default) = self.missing_is_default.filter(|_| inserts || updates) {
            applied.push(if default { "missing=default" } else { "missing=null" }.into());
        }
        match self.returning.filter(|_| writes) {
            Some(ReturnPreference::Minimal) => applied.push("return=minimal".into()),
            Some(ReturnPreference::HeadersOnly) => applied.push("return=headers-only".into()),
            Some(ReturnPreference::Representation) => applied.push("return=representation".into()),
            None => {}
        }
        match self.count {
            Some(CountMethod::Exact) => applied.push("count=exact".into()),
            Some(CountMethod::Planned) => applied.push("count=planned".into()),
            Some(CountMethod::Estimated) => applied.push("count=estimated".into()),
            None => {}
        }
        if let Some(strict) = self.strict {
            applied.push(if strict { "handling=strict" } else { "handling=lenient" }.into());
        }
        if let Some(most) = self.max_affected(method) {
            applied.push(format!("max-affected={most}"));
        }
        (!applied.is_empty()).then(|| applied.join(", "))
    }
}

/// Stores a value unless there is one already.
fn first<T>(slot: &mut Option<T>, value: T) {
    slot.get_or_insert(value);
}

/// Representation of rows in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// An array.
    Array,
    /// A single object; the result must be exactly one row.
    Object,
}

/// Returns the [`ResultFormat`] that `Accept` requests: of the supported types, the first with the highest weight.
pub fn parse_accept(headers: &HeaderMap) -> Result<ResultFormat, PgError> {
    let given: Vec<&str> = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
    let given = given.join(",");
    let mut wanted: Vec<(&str, f32)> = given.split(',').map(|media| (media.trim(), weight(media))).collect();
    wanted.retain(|(media, weight)| !media.is_empty() && *weight > 0.0);
    // No header means anything (RFC 9110, 12.5.1).
    if wanted.is_empty() {
        return Ok(ResultFormat::Array);
    }
    // A stable sort, so types of equal weight stay in the client's order.
    wanted.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    wanted.iter().find_map(|(media, _)| form(media)).ok_or_else(|| {
        let names: Vec<&str> = wanted.iter().map(|(media, _)| *media).collect();
        PgError::new("PGRST107", format!("None of these media types are available: {}", names.join(", ")))
    })
}

/// Returns the weight `q` of a media type; 1 by default.
fn weight(media: &str) -> f32 {
    let q = media.split(';').find_map(|parameter| parameter.trim().strip_prefix("q="));
    q.and_then(|q| q.parse().ok()).unwrap_or(1.0)
}

/// Returns the form of a media type, if it is supported.
fn form(media: &str) -> Option<ResultFormat> {
    let mut parts = media.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    // Rows with omitted nulls would need another builder; no official client asks for them.
    if parts.any(|parameter| parameter == "nulls=stripped") {
        return None;
    }
    match name.as_str() {
        "*/*"
        | "application/*"
        | "application/json"
        | "application/vnd.pgrst.array"
        | "application/vnd.pgrst.array+json" => Some(ResultFormat::Array),
        "application/vnd.pgrst.object" | "application/vnd.pgrst.object+json" => Some(ResultFormat::Object),
        _ => None,
    }
}

/// Rejects every schema except `public`.
pub fn check_schema(method: &Method, headers: &HeaderMap) -> Result<(), PgError> {
    let name = if matches!(*method, Method::GET | Method::HEAD) { "accept-profile" } else { "content-profile" };
    match headers.get(HeaderName::from_static(name)).map(http::HeaderValue::as_bytes) {
        None | Some(b"public") => Ok(()),
        Some(other) => Err(PgError::new("PGRST106", format!("Invalid schema: {}", String::from_utf8_lossy(other)))
            .with_hint("Only the following schemas are exposed: public")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: &'static str, values: &[&'static str]) -> HeaderMap {
        values.iter().map(|value| (HeaderName::from_static(name), http::HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn preferences_of_several_headers() {
        let given = headers("prefer", &["return=representation, count=planned", "missing=default,return=minimal, a=b"]);
        let read = RequestPreferences::parse(&given).unwrap();
        assert_eq!(read.returning, Some(ReturnPreference::Representation));
        assert_eq!(read.applied(&Method::POST).unwrap(), "missing=default, return=representation, count=planned");
        assert_eq!(read.applied(&Method::GET).unwrap(), "count=planned");
        let given = headers("prefer", &["handling=strict", "max-affected=2"]);
        let read = RequestPreferences::parse(&given).unwrap();
        assert_eq!(read.applied(&Method::DELETE).unwrap(), "handling=strict, max-affected=2");
        assert_eq!((read.max_affected(&Method::PATCH), read.max_affected(&Method::POST)), (Some(2), None));
        let lenient = RequestPreferences::parse(&headers("prefer", &["max-affected=2"])).unwrap();
        assert_eq!((lenient.max_affected(&Method::PATCH), lenient.applied(&Method::PATCH)), (None, None));
        assert_eq!(RequestPreferences::default().applied(&Method::POST), None);
    }

    #[test]
    fn preferences_that_cannot_be_met_are_refused() {
        for (value, want) in [
            ("handling=strict, a=b", "PGRST122"),
            ("handling=strict, return=all", "PGRST122"),
            ("tx=rollback", "PGRST127"),
            ("timezone=Europe/Berlin", "PGRST127"),
        ] {
            assert_eq!(RequestPreferences::parse(&headers("prefer", &[value])).unwrap_err().code, want, "{value}");
        }
    }

    #[test]
    fn forms() {
        let form = |value: &'static str| parse_accept(&headers("accept", &[value])).map_err(|error| error.code);
        assert_eq!(form("application/json, text/csv"), Ok(ResultFormat::Array));
        assert_eq!(form("application/vnd.pgrst.object+json; charset=utf-8"), Ok(ResultFormat::Object));
        assert_eq!(form("text/html,*/*;q=0.8"), Ok(ResultFormat::Array));
        assert_eq!(form("application/json;q=0.5, application/vnd.pgrst.object+json"), Ok(ResultFormat::Object));
        assert_eq!(form("application/vnd.pgrst.object+json;q=0, application/json"), Ok(ResultFormat::Array));
        for bad in [
            "text/csv",
            "application/geo+json",
            "application/vnd.pgrst.array+json;nulls=stripped",
            "application/vnd.pgrst.plan+text",
        ] {
            assert_eq!(form(bad), Err("PGRST107"), "{bad}");
        }
    }
}
