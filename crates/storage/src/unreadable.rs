//! Rows that this version cannot read, such as those with an enum value of a newer version.

use crate::Error;

/// Converts the readable rows. Logs the others with their id and skips them, so that a single row cannot prevent the
/// start of a server or the recovery of a node.
pub(crate) fn readable<R, T>(table: &'static str, rows: Vec<R>, id: impl Fn(&R) -> String) -> Vec<T>
where
    T: TryFrom<R, Error = Error>,
{
    let convert = |row: R| {
        let id = id(&row);
        T::try_from(row).inspect_err(|error| tracing::error!(table, id, %error, "a row could not be read")).ok()
    };
    rows.into_iter().filter_map(convert).collect()
}
