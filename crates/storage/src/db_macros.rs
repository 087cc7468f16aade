//! Macros that run the same statement on SQLite and PostgreSQL: one body, expanded once per database, because sqlx
//! types differ.
//!
//! Statements use only what both databases support: parameters as `$n`, ids and times as in the migrations, no `IN`
//! lists of variable length, no functions that only one database has.

/// Runs a read-only statement: `read!(self, |c| sqlx::query_as(SQL).bind(x).fetch_all(c).await)`.
macro_rules! read {
    ($storage:expr, |$c:ident| $body:expr) => {
        match &$storage.db {
            $crate::Db::Sqlite { read, .. } => $crate::db_macros::sqlite_read!(read, |$c| $body),
            $crate::Db::Postgres(connections) => {
                $crate::db_macros::postgres_read!($storage, connections, |$c| $body)
            }
        }
    };
}

/// Runs a read-only statement on SQLite, whose readers need no outage guard: they read a local file.
macro_rules! sqlite_read {
    ($read:expr, |$c:ident| $body:expr) => {{
        let whole = $crate::db_macros::on_connection!($read, |$c| $body);
        // Boxed for the same reason as in `Availability::guard`.
        Box::pin($crate::db_macros::traced!(SQLITE, "read", whole)).await
    }};
}

/// Runs a read-only statement on PostgreSQL.
macro_rules! postgres_read {
    ($storage:expr, $connections:expr, |$c:ident| $body:expr) => {{
        let whole = $crate::db_macros::on_connection!($connections, |$c| $body);
        $storage.availability.guard($crate::db_macros::traced!(POSTGRESQL, "read", whole)).await
    }};
}

/// Runs a single statement that writes.
macro_rules! write {
    ($storage:expr, |$c:ident| $body:expr) => {
        match &$storage.db {
            $crate::Db::Sqlite { write, .. } => {
                let whole = async {
                    let mut transaction = write.begin().await?;
                    let result = {
                        let $c = transaction.connection()?;
                        $body
                    };
                    match result {
                        Ok(value) => transaction.commit().await.map(|()| value),
                        Err(error) => {
                            transaction.rollback().await?;
                            Err(error)
                        }
                    }
                };
                $storage.availability.guard($crate::db_macros::traced!(SQLITE, "write", whole)).await
            }
            $crate::Db::Postgres(connections) => {
                let whole = $crate::db_macros::on_connection!(connections, |$c| $body);
                $storage.availability.guard($crate::db_macros::traced!(POSTGRESQL, "write", whole)).await
            }
        }
    };
}

/// Runs work in a [span](crate::db_spans) that is named after the module that uses the macro.
macro_rules! traced {
    ($system:ident, $kind:literal, $work:expr) => {
        $crate::db_spans::in_span($crate::db_spans::$system, concat!(module_path!(), " ", $kind), $work)
    };
}

/// Runs one statement on a connection. The connection becomes idle again only after success; otherwise the pool tests
/// it.
macro_rules! on_connection {
    ($connections:expr, |$c:ident| $body:expr) => {
        async {
            let mut lent = $connections.acquire().await?;
            let result = {
                let $c = &mut *lent;
                $body
            };
            if result.is_ok() {
                lent.release();
            }
            result
        }
    };
}

/// Runs several statements as one transaction: `transaction!(self, |tx| { … .execute(&mut *tx).await?; … })`. Returns
/// the value of the body. An `Err`, also by `?`, rolls back. The body may await SQL only, because on SQLite it holds
/// the only writer.
macro_rules! transaction {
    ($storage:expr, |$tx:ident| $body:block) => {
        match &$storage.db {
            $crate::Db::Sqlite { write, .. } => $crate::db_macros::sqlite_transaction!($storage, write, |$tx| $body),
            $crate::Db::Postgres(connections) => {
                $crate::db_macros::postgres_transaction!($storage, connections, |$tx| $body)
            }
        }
    };
}

/// Runs the body as a SQLite transaction that is committed together with others, see `crate::group_commit`.
macro_rules! sqlite_transaction {
    ($storage:expr, $write:ident, |$tx:ident| $body:block) => {{
        let whole = async {
            let mut transaction = $write.begin().await?;
            // The inner block makes `?` in the body end the body, not the calling function.
            let result: Result<_, $crate::Error> = async {
                let $tx = transaction.connection()?;
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
        $storage.availability.guard($crate::db_macros::traced!(SQLITE, "transaction", whole)).await
    }};
}

/// Runs the body between `BEGIN` and `COMMIT` or `ROLLBACK` on PostgreSQL.
macro_rules! postgres_transaction {
    ($storage:expr, $connections:ident, |$tx:ident| $body:block) => {{
        let whole = async {
            let mut lent = $connections.acquire().await?;
            let mut transaction = sqlx::Connection::begin(&mut *lent).await?;
            let result: Result<_, $crate::Error> = async {
                let $tx = &mut *transaction;
                $body
            }
            .await;
            match result {
                Ok(value) => {
                    transaction.commit().await?;
                    lent.release();
                    Ok(value)
                }
                // The connection is not returned to the idle ones: after an error the pool tests it first.
                Err(error) => {
                    transaction.rollback().await?;
                    Err(error)
                }
            }
        };
        $storage.availability.guard($crate::db_macros::traced!(POSTGRESQL, "transaction", whole)).await
    }};
}

pub(crate) use {
    on_connection, postgres_read, postgres_transaction, read, sqlite_read, sqlite_transaction, traced, transaction,
    write,
};
