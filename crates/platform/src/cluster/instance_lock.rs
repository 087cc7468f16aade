//! Lock of the data folder by a node. The node that holds the lock knows that the previous one is dead, and can take
//! over its turns without waiting for missed heartbeats.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use domain::NodeId;

/// Name of the file in the data folder.
const FILE_NAME: &str = "node";

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
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true).mode(0o600);
        let mut file = options.open(folder.join(FILE_NAME)).ok()?;
        file.try_lock().ok()?;
        let mut previous = String::new();
        file.read_to_string(&mut previous).ok()?;
        // Written under the lock, which is released with the process, so a crash needs no cleanup.
        file.set_len(0).ok()?;
        file.rewind().ok()?;
        write!(file, "{own}").ok()?;
        Some(Self { _file: file, previous: previous.parse().ok() })
    }

    /// Returns whether a process holds the lock of the folder.
    pub fn is_held(folder: &Path) -> bool {
        // Where locks are not supported, the processes do without them as well.
        File::open(folder.join(FILE_NAME)).is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
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
        assert!(InstanceLock::is_held(folder.path()));
        drop(held);
        assert!(!InstanceLock::is_held(folder.path()));
        assert_eq!(InstanceLock::acquire(folder.path(), third).unwrap().previous, Some(first));
    }
}
