//! Rows of the fixture 0100, read through the repositories. What later migrations added to them has its default.

mod accounts;
mod chats;
mod connections;
mod models;
mod turns;

use storage::Storage;

pub async fn check(storage: &Storage) {
    accounts::check(storage).await;
    chats::check(storage).await;
    connections::check(storage).await;
    models::check(storage).await;
    turns::check(storage).await;
}
