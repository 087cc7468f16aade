//! Parsers of the query string and of the headers that determine the response. Nothing is ignored: unsupported syntax is
//! rejected with the error codes of PostgREST.

mod cursor;
mod filter;
mod preferences;
mod query_string;
mod select_list;

pub use preferences::{
    ConflictResolution, CountMethod, RequestPreferences, ResultFormat, ReturnPreference, check_schema, parse_accept,
};
pub use query_string::QueryParameters;
