//! SHA-256 of files and streams.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::HEXLOWER;

/// Size of a read, in bytes.
const READ_BYTES: usize = 1 << 20;

/// SHA-256 of data that arrives in pieces, for [`of_file`], downloads and archives.
pub struct Digest(Context);

impl Digest {
    /// Creates the hash of nothing.
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Adds bytes to the hash.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Adds the rest of a file to the hash.
    pub fn read(&mut self, file: &mut File) -> std::io::Result<()> {
        let mut piece = vec![0; READ_BYTES];
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(()),
                read => self.update(&piece[..read]),
            }
        }
    }

    /// Returns the hash in lower-case hexadecimal.
    pub fn finish(self) -> String {
        HEXLOWER.encode(self.0.finish().as_ref())
    }
}

/// Returns the SHA-256 of a whole file, in lower-case hexadecimal.
pub fn of_file(path: &Path) -> std::io::Result<String> {
    let mut digest = Digest::new();
    digest.read(&mut File::open(path)?)?;
    Ok(digest.finish())
}
