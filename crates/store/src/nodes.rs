//! Processes that share the database, and which of them drives which turn.

use domain::NodeId;
use uuid::Uuid;

use crate::dispatch::{read, transaction, write};
use crate::runs::{RunRow, UnfinishedRun};
use crate::{Error, Store};

const ENTER: &str = "INSERT INTO nodes (id, beat) VALUES ($1, 0) ON CONFLICT (id) DO NOTHING";

const BEAT: &str = "UPDATE nodes SET beat = beat + 1 WHERE id = $1";

const LIST: &str = "SELECT id, beat FROM nodes WHERE id <> $1";

const REMOVE: &str = "DELETE FROM nodes WHERE id = $1";

const REMOVE_STILL: &str = "DELETE FROM nodes WHERE id = $1 AND beat = $2";

const REMOVE_OTHERS: &str = "DELETE FROM nodes WHERE id <> $1";

const LET_GO: &str = "UPDATE runs SET node_id = NULL WHERE node_id = $1 AND status = 'running'";

const CLAIM: &str = "UPDATE runs SET node_id = $1
    WHERE status = 'running' AND (node_id IS NULL OR node_id NOT IN (SELECT id FROM nodes))
      AND EXISTS (SELECT 1 FROM nodes WHERE id = $1)
    RETURNING id, session_id, user_id, message_id, model, tools, created_at, is_waiting";

impl Store {
    /// This process drives turns from now on. On a database that it cannot share, every other one is gone.
    pub async fn enter_nodes(&self) -> Result<(), Error> {
        transaction!(self, |tx| {
            sqlx::query(ENTER).bind(self.node.0).execute(&mut *tx).await?;
            if !self.is_shared() {
                sqlx::query(REMOVE_OTHERS).bind(self.node.0).execute(&mut *tx).await?;
            }
            Ok(())
        })
    }

    /// Says that this process lives; `false` when the others have taken it for gone. Then it drives nothing any more.
    pub async fn beat(&self) -> Result<bool, Error> {
        let id = self.node.0;
        let changed = write!(self, |c| sqlx::query(BEAT).bind(id).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(changed == 1)
    }

    /// The other processes, with their beats.
    pub async fn list_other_nodes(&self) -> Result<Vec<(NodeId, i64)>, Error> {
        let rows = read!(self, |c| sqlx::query_as::<_, (Uuid, i64)>(LIST).bind(self.node.0).fetch_all(c).await)?;
        Ok(rows.into_iter().map(|(id, beat)| (NodeId(id), beat)).collect())
    }

    /// Says of a process that it is gone.
    pub async fn remove_node(&self, node: NodeId) -> Result<(), Error> {
        write!(self, |c| sqlx::query(REMOVE).bind(node.0).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// The same, if its beat still is this one.
    pub async fn remove_still_node(&self, node: NodeId, beat: i64) -> Result<(), Error> {
        write!(self, |c| sqlx::query(REMOVE_STILL)
            .bind(node.0)
            .bind(beat)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Gives back every turn that this process drives, for whoever takes it first.
    pub async fn let_go_of_runs(&self) -> Result<(), Error> {
        write!(self, |c| sqlx::query(LET_GO).bind(self.node.0).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Takes over every turn that nobody drives any more, oldest first. It crosses owners.
    pub async fn claim_runs(&self) -> Result<Vec<UnfinishedRun>, Error> {
        let mut rows = write!(self, |c| sqlx::query_as::<_, RunRow>(CLAIM).bind(self.node.0).fetch_all(c).await)?;
        rows.sort_by_key(|row| row.id);
        Ok(rows.into_iter().map(UnfinishedRun::from).collect())
    }
}
