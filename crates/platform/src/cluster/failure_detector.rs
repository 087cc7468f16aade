//! Failure detector for the other nodes. It needs no synchronized clocks: the heartbeat of a living node increases
//! between two checks.

use std::collections::HashMap;

use domain::NodeId;

/// Number of consecutive checks, a second apart, with an unchanged heartbeat after which a node counts as dead.
const MISSED_HEARTBEATS: u32 = 6;

/// Heartbeats of the other nodes as of the last check.
#[derive(Debug, Default)]
pub struct FailureDetector {
    /// Heartbeat, and the number of checks in which it was unchanged.
    seen: HashMap<NodeId, (i64, u32)>,
}

impl FailureDetector {
    /// Evaluates the current heartbeats, and returns the nodes that are dead, which are unchanged since [`MISSED_HEARTBEATS`]
    /// checks, each with its last heartbeat.
    pub fn observe(&mut self, current: Vec<(NodeId, i64)>) -> Vec<(NodeId, i64)> {
        // Nodes that are not in the current list have left, and are forgotten with the old map.
        let seen = std::mem::take(&mut self.seen);
        for (node, heartbeat) in &current {
            let times = match seen.get(node) {
                Some((before, times)) if before == heartbeat => times + 1,
                // A node that is new, or whose heartbeat has changed in either direction.
                _ => 0,
            };
            self.seen.insert(*node, (*heartbeat, times));
        }
        current.into_iter().filter(|(node, _)| self.seen[node].1 >= MISSED_HEARTBEATS).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_nodes_without_heartbeats_and_spares_late_ones() {
        let mut detector = FailureDetector::default();
        let (alive, late, gone) = (NodeId::fresh(), NodeId::fresh(), NodeId::fresh());
        for look in 0..20 {
            let late_beat = i64::from(look) / 6;
            let dead = detector.observe(vec![(alive, i64::from(look)), (late, late_beat), (gone, 7)]);
            let expected = if look < MISSED_HEARTBEATS { Vec::new() } else { vec![(gone, 7)] };
            assert_eq!(dead, expected, "look {look}");
        }
    }
}
