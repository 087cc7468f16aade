//! Nodes that share the database, and the assignment of running turns to nodes.
//!
//! Each node increments its heartbeat. A node whose heartbeat stops is removed by another one, and its turns are
//! reassigned.

use domain::{NodeId, TurnId};
use uuid::Uuid;

use crate::db_macros::{read, transaction, write};
use crate::turns::{TurnRow, UnfinishedTurn};
use crate::{Error, NodeRepository};

const INSERT: &str = "INSERT INTO nodes (id, heartbeat) VALUES ($1, 0) ON CONFLICT (id) DO NOTHING";

const INCREMENT_HEARTBEAT: &str = "UPDATE nodes SET heartbeat = heartbeat + 1 WHERE id = $1";

const LIST: &str = "SELECT id, heartbeat FROM nodes WHERE id <> $1";

const REMOVE: &str = "DELETE FROM nodes WHERE id = $1";

/// Deletes a node only if its heartbeat is still `$2`: it may have been just slow.
const REMOVE_STILL: &str = "DELETE FROM nodes WHERE id = $1 AND heartbeat = $2";

const REMOVE_OTHERS: &str = "DELETE FROM nodes WHERE id <> $1";

const RELEASE_TURNS: &str = "UPDATE turns SET node_id = NULL WHERE node_id = $1 AND status = 'running'";

const LIST_TURNS: &str = "SELECT id FROM turns WHERE node_id = $1 AND status = 'running'";

const RELEASE_TURN: &str = "UPDATE turns SET node_id = NULL WHERE id = $1 AND node_id = $2 AND status = 'running'";

/// Takes turns whose node is unset or removed. A node that was itself removed takes none. It is one statement, so that of
/// several nodes that find the same turns only one gets each.
const CLAIM: &str = "UPDATE turns SET node_id = $1
    WHERE status = 'running' AND (node_id IS NULL OR node_id NOT IN (SELECT id FROM nodes))
      AND EXISTS (SELECT 1 FROM nodes WHERE id = $1)
    RETURNING id, session_id, user_id, message_id, model, tools, created_at, is_waiting";

impl NodeRepository<'_> {
    /// Registers this node, so that it may run turns. On a database that cannot be shared, all other nodes are removed:
    /// they belong to earlier processes.
    pub async fn register(self) -> Result<(), Error> {
        transaction!(self.storage, |tx| {
            sqlx::query(INSERT).bind(self.storage.node.0).execute(&mut *tx).await?;
            if !self.storage.is_shared() {
                sqlx::query(REMOVE_OTHERS).bind(self.storage.node.0).execute(&mut *tx).await?;
            }
            Ok(())
        })
    }

    /// Increments this node's heartbeat. Returns `false` if other nodes have removed it as dead. It must then stop its
    /// turns.
    pub async fn record_heartbeat(self) -> Result<bool, Error> {
        let id = self.storage.node.0;
        let changed = write!(self.storage, |c| sqlx::query(INCREMENT_HEARTBEAT)
            .bind(id)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(changed == 1)
    }

    /// Returns the other nodes and their heartbeats.
    pub async fn list_others(self) -> Result<Vec<(NodeId, i64)>, Error> {
        let rows = read!(self.storage, |c| sqlx::query_as::<_, (Uuid, i64)>(LIST)
            .bind(self.storage.node.0)
            .fetch_all(c)
            .await)?;
        Ok(rows.into_iter().map(|(id, beat)| (NodeId(id), beat)).collect())
    }

    /// Removes a node that has stopped.
    pub async fn remove(self, node: NodeId) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(REMOVE).bind(node.0).execute(c).await.map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Removes a node if its heartbeat is still `beat`.
    pub async fn remove_dead(self, node: NodeId, beat: i64) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(REMOVE_STILL)
            .bind(node.0)
            .bind(beat)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Releases every turn of this node, so that any node can claim it.
    pub async fn release_turns(self) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(RELEASE_TURNS)
            .bind(self.storage.node.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Returns the turns in progress that are assigned to this node. Not limited to one owner.
    pub async fn list_turns(self) -> Result<Vec<TurnId>, Error> {
        let ids = read!(self.storage, |c| sqlx::query_scalar::<_, Uuid>(LIST_TURNS)
            .bind(self.storage.node.0)
            .fetch_all(c)
            .await)?;
        Ok(ids.into_iter().map(TurnId).collect())
    }

    /// Releases one turn of this node, unless it has ended, so that any node can claim it.
    pub async fn release_turn(self, turn: TurnId) -> Result<(), Error> {
        write!(self.storage, |c| sqlx::query(RELEASE_TURN)
            .bind(turn.0)
            .bind(self.storage.node.0)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(())
    }

    /// Claims every turn without a living node and returns them, oldest first. Not limited to one owner.
    pub async fn claim_turns(self) -> Result<Vec<UnfinishedTurn>, Error> {
        let mut rows =
            write!(self.storage, |c| sqlx::query_as::<_, TurnRow>(CLAIM).bind(self.storage.node.0).fetch_all(c).await)?;
        // `RETURNING` has no order. Ids are UUIDs of version 7, which sort by time.
        rows.sort_by_key(|row| row.id);
        Ok(rows.into_iter().map(UnfinishedTurn::from).collect())
    }
}
