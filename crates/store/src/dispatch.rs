//! One body, two typed expansions: the same statement runs on either database.
//!
//! The statements keep to what both speak: `$n` for parameters, ids and times as in the migrations, no `IN` lists of
//! variable length, no functions that only one has.

/// Runs a statement that only reads: `read!(self, |c| sqlx::query_as(SQL).bind(x).fetch_all(c).await)`.
macro_rules! read {
    ($store:expr, |$c:ident| $body:expr) => {
        match &$store.db {
            $crate::Db::Sqlite { read: $c, .. } => $body,
            $crate::Db::Postgres($c) => $store.presence.attend(async { $body }).await,
        }
    };
}

/// Runs one statement that writes.
macro_rules! write {
    ($store:expr, |$c:ident| $body:expr) => {
        match &$store.db {
            $crate::Db::Sqlite { write: $c, .. } => $store.presence.attend(async { $body }).await,
            $crate::Db::Postgres($c) => $store.presence.attend(async { $body }).await,
        }
    };
}

/// Runs several statements as one: `transaction!(self, |tx| { … .execute(&mut *tx).await?; … })`. The body's value is
/// the result; an `Err` (also by `?`) rolls back. Nothing but SQL may be awaited in it: on SQLite it holds the one writer.
macro_rules! transaction {
    ($store:expr, |$tx:ident| $body:block) => {
        match &$store.db {
            $crate::Db::Sqlite { write, .. } => {
                $crate::dispatch::within!($store, write.begin_with("BEGIN IMMEDIATE"), |$tx| $body)
            }
            $crate::Db::Postgres(pool) => $crate::dispatch::within!($store, pool.begin(), |$tx| $body),
        }
    };
}

/// The body between a beginning and its commit or rollback; only for [`transaction!`].
macro_rules! within {
    ($store:expr, $begin:expr, |$tx:ident| $body:block) => {{
        let whole = async {
            let mut transaction = $begin.await?;
            let result: Result<_, $crate::Error> = async {
                let $tx = &mut *transaction;
                $body
            }
            .await;
            match result {
                Ok(value) => transaction.commit().await.map(|()| value).map_err($crate::Error::from),
                Err(error) => {
                    transaction.rollback().await?;
                    Err(error)
                }
            }
        };
        $store.presence.attend(whole).await
    }};
}

pub(crate) use {read, transaction, within, write};
