//! One body, two typed expansions: the same statement runs on either database.
//!
//! The statements keep to what both speak: `$n` for parameters, ids and times as in the migrations, no `IN` lists of
//! variable length, no functions that only one has.

/// Runs a statement that only reads: `read!(self, |c| sqlx::query_as(SQL).bind(x).fetch_all(c).await)`.
macro_rules! read {
    ($store:expr, |$c:ident| $body:expr) => {
        match &$store.db {
            // In memory of its own, as `attend` has it.
            $crate::Db::Sqlite { read, .. } => Box::pin($crate::dispatch::lent!(read, |$c| $body)).await,
            $crate::Db::Postgres(connections) => {
                $store.presence.attend($crate::dispatch::lent!(connections, |$c| $body)).await
            }
        }
    };
}

/// Runs one statement that writes.
macro_rules! write {
    ($store:expr, |$c:ident| $body:expr) => {
        match &$store.db {
            $crate::Db::Sqlite { write, .. } => {
                let whole = async {
                    let mut turn = write.enter().await?;
                    let result = {
                        let $c = turn.connection()?;
                        $body
                    };
                    match result {
                        Ok(value) => turn.keep().await.map(|()| value),
                        Err(error) => {
                            turn.undo().await?;
                            Err(error)
                        }
                    }
                };
                $store.presence.attend(whole).await
            }
            $crate::Db::Postgres(connections) => {
                $store.presence.attend($crate::dispatch::lent!(connections, |$c| $body)).await
            }
        }
    };
}

/// One statement on a connection, which is at hand again when it went well.
macro_rules! lent {
    ($connections:expr, |$c:ident| $body:expr) => {
        async {
            let mut lent = $connections.lend().await?;
            let result = {
                let $c = &mut *lent;
                $body
            };
            if result.is_ok() {
                lent.give_back();
            }
            result
        }
    };
}

/// Runs several statements as one: `transaction!(self, |tx| { … .execute(&mut *tx).await?; … })`. The body's value is
/// the result; an `Err` (also by `?`) rolls back. Nothing but SQL may be awaited in it: on SQLite it holds the one writer.
macro_rules! transaction {
    ($store:expr, |$tx:ident| $body:block) => {
        match &$store.db {
            $crate::Db::Sqlite { write, .. } => $crate::dispatch::in_turn!($store, write, |$tx| $body),
            $crate::Db::Postgres(connections) => $crate::dispatch::within!($store, connections, |$tx| $body),
        }
    };
}

/// The body as one of those that SQLite's one writer commits together.
macro_rules! in_turn {
    ($store:expr, $write:ident, |$tx:ident| $body:block) => {{
        let whole = async {
            let mut turn = $write.enter().await?;
            let result: Result<_, $crate::Error> = async {
                let $tx = turn.connection()?;
                $body
            }
            .await;
            match result {
                Ok(value) => turn.keep().await.map(|()| value).map_err($crate::Error::from),
                Err(error) => {
                    turn.undo().await?;
                    Err(error)
                }
            }
        };
        $store.presence.attend(whole).await
    }};
}

/// The body between a beginning and its commit or rollback, on PostgreSQL.
macro_rules! within {
    ($store:expr, $connections:ident, |$tx:ident| $body:block) => {{
        let whole = async {
            let mut lent = $connections.lend().await?;
            let mut transaction = sqlx::Connection::begin(&mut *lent).await?;
            let result: Result<_, $crate::Error> = async {
                let $tx = &mut *transaction;
                $body
            }
            .await;
            match result {
                Ok(value) => {
                    transaction.commit().await?;
                    lent.give_back();
                    Ok(value)
                }
                Err(error) => {
                    transaction.rollback().await?;
                    Err(error)
                }
            }
        };
        $store.presence.attend(whole).await
    }};
}

pub(crate) use {in_turn, lent, read, transaction, within, write};
