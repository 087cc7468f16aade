//! The subset of PostgREST behind `/rest/v1`: reads and writes that clients formulate themselves, on their own rows of
//! three tables.
//!
//! [`request`] parses query strings and headers into the syntax tree of [`ast`]. The functions [`read_rows`],
//! [`insert_rows`], [`update_rows`] and [`delete_rows`] build SQL from it and run it on a [`storage::Store`] through
//! [`storage::raw`]. HTTP itself is the server's.
//!
//! - A row of another user does not exist for any verb, filter, order, count or upsert. A row cannot be given to
//!   another user, either.
//! - Both databases give the same response, byte for byte. Texts compare and sort by their bytes, `like` is
//!   case-sensitive, `ilike` folds every letter that has a lower case, nulls sort as the largest value, literals are
//!   validated before use, and equal rows are ordered by time of creation and id.
//! - Violations of constraints are found before the statement runs, even where PostgreSQL would only check rows that it
//!   reaches.
//! - `user_id` defaults to the caller.
//! - The query of a connection's URL is encrypted, and `url` shows the masked form ([`domain::server_url`]). A masked
//!   URL can only be written to a row that has it, so that a secret is only ever sent to the URL it was entered for.

pub mod ast;
mod condition;
mod like_pattern;
mod operations;
mod payload;
mod pg_error;
pub mod request;
mod row_shape;
mod soft_delete;
mod statement;
mod table;
mod transaction;
mod unique_keys;
mod validation;
mod value;

pub use operations::{RowPage, WrittenRows, delete_rows, insert_rows, read_rows, update_rows};
pub use payload::{ConnectionSealer, WriteContext};
pub use pg_error::{PgError, PostgrestError};
pub use table::{ColumnDefault, ColumnType, RestTable, TableColumn};

/// Maximum number of rows per response and per request body.
pub const MAX_ROWS: usize = 1_000;
