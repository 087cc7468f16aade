//! Rows that this version cannot read, such as those with a word of a newer one.

use crate::Error;

/// Converts the rows that can be read. The others are logged with their id and left out: one of them must not stop a start or
/// the recovery of a node.
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
