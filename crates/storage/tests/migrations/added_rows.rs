//! Rows of the fixture 0134, read through the repositories.

mod accounts;
mod chats;
mod connections;
mod factors;
mod limits;

use storage::Storage;

/// Version since which the rows are in the databases.
pub const VERSION: i64 = 134;

pub async fn check(storage: &Storage) {
    accounts::check(storage).await;
    factors::check(storage).await;
    connections::check(storage).await;
    chats::check(storage).await;
    limits::check(storage).await;
}
