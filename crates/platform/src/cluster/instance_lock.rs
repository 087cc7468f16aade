//! Lock of the data folder by a node. The node that holds the lock knows that the previous one is dead, and can take
//! over its turns without waiting for missed heartbeats.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::Path;

use domain::NodeId;

/// Lock on the file `node` of the data folder, held until it is dropped.
#[derive(Debug)]
pub struct InstanceLock {
    _file: File,
    /// Node that held the lock before.
    pub previous: Option<NodeId>,
}

impl InstanceLock {
    /// Acquires the lock. Returns `None` if another process holds it, or if the file system does not support locks.
    pub fn acquire(folder: &Path, own: NodeId) -> Option<Self> {
        // Not truncated when opened: the file contains the previous node's id.
        let mut file =
            OpenOptions::new().create(true).truncate(false).read(true).write(true).open(folder.join("node")).ok()?;
        file.try_lock().ok()?;
        let mut previous = String::new();
        file.read_to_string(&mut previous).ok()?;
        // Written under the lock, which is released with the process, so a crash needs no cleanup.
        file.set_len(0).ok()?;
        file.rewind().ok()?;
        write!(file, "{own}").ok()?;
        Some(Self { _file: file, previous: previous.parse().ok() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_process_holds_the_lock() {
        let folder = tempfile::TempDir::new().unwrap();
        let (first, second, third) = (NodeId::fresh(), NodeId::fresh(), NodeId::fresh());
        let held = InstanceLock::acquire(folder.path(), first).unwrap();
        assert_eq!(held.previous, None);
        assert!(InstanceLock::acquire(folder.path(), second).is_none());
        drop(held);
        assert_eq!(InstanceLock::acquire(folder.path(), third).unwrap().previous, Some(first));
    }
}
