//! Whether the other nodes live, without a clock: as long as a node lives, its beat rises between two looks.

use std::collections::HashMap;

use domain::NodeId;

/// Looks in a row, a second apart, that find a beat unchanged. Then its node is gone.
const STILL: u32 = 6;

/// What was seen of the other nodes.
#[derive(Debug, Default)]
pub struct Others {
    /// The beat, and how often it was the same.
    seen: HashMap<NodeId, (i64, u32)>,
}

impl Others {
    /// Takes in a look, and gives the nodes that are gone.
    pub fn still(&mut self, look: Vec<(NodeId, i64)>) -> Vec<(NodeId, i64)> {
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
