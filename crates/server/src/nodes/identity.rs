//! Which node used this data folder last. Whoever holds the file knows that the former one is gone, and need not wait until
//! its beat has stood still.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use domain::NodeId;

/// Holds the folder's file `node` as long as it lives.
#[derive(Debug)]
pub struct Identity {
    _file: File,
    /// The node before this one.
    pub former: Option<NodeId>,
}

impl Identity {
    /// Takes the file for this node. Nothing when another process has it, or the folder cannot tell.
    pub fn take(folder: &Path, own: NodeId) -> Option<Self> {
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(folder.join("node")).ok()?;
        file.try_lock().ok()?;
        let mut former = String::new();
        file.read_to_string(&mut former).ok()?;
        file.set_len(0).ok()?;
        file.rewind().ok()?;
        write!(file, "{own}").ok()?;
        Some(Self { _file: file, former: former.parse().ok() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_process_at_a_time_is_the_successor() {
        let folder = tempfile::TempDir::new().unwrap();
        let (first, second, third) = (NodeId::fresh(), NodeId::fresh(), NodeId::fresh());
        let held = Identity::take(folder.path(), first).unwrap();
        assert_eq!(held.former, None);
        assert!(Identity::take(folder.path(), second).is_none());
        drop(held);
        assert_eq!(Identity::take(folder.path(), third).unwrap().former, Some(first));
    }
}
