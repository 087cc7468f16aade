//! Failure detector for the other nodes. It needs no synchronized clocks: the heartbeat of a living node increases
//! between two checks.

use std::collections::HashMap;

use domain::NodeId;

/// Number of consecutive checks, a second apart, with an unchanged heartbeat after which a node counts as dead.
const STILL: u32 = 6;

/// Heartbeats of the other nodes as of the last check.
#[derive(Debug, Default)]
pub struct Others {
    /// Heartbeat, and the number of checks in which it was unchanged.
    seen: HashMap<NodeId, (i64, u32)>,
}

impl Others {
    /// Evaluates the current heartbeats, and returns the nodes that are dead, which are unchanged since [`STILL`]
    /// checks, each with its last heartbeat.
    pub fn still(&mut self, look: Vec<(NodeId, i64)>) -> Vec<(NodeId, i64)> {
        // Nodes that are not in the current list have left, and are forgotten with the old map.
        let seen = std::mem::take(&mut self.seen);
        for (node, beat) in &look {
            let times = match seen.get(node) {
                Some((before, times)) if before == beat => times + 1,
                _ => 0,
            };
            self.seen.insert(*node, (*beat, times));
        }
        look.into_iter().filter(|(node, _)| self.seen[node].1 >= STILL).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_whose_beat_stands_still_is_gone_and_one_that_was_late_is_not() {
        let mut others = Others::default();
        let (lives, late, gone) = (NodeId::fresh(), NodeId::fresh(), NodeId::fresh());
        for look in 0..20 {
            let late_beat = i64::from(look) / 6;
            let still = others.still(vec![(lives, i64::from(look)), (late, late_beat), (gone, 7)]);
            let expected = if look < STILL { Vec::new() } else { vec![(gone, 7)] };
            assert_eq!(still, expected, "look {look}");
        }
    }
}
