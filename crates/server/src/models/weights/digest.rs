//! SHA-256 of files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use aws_lc_rs::digest::{Context, SHA256};
use data_encoding::HEXLOWER;

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// A digest in the making.
pub struct Digest(Context);

impl Digest {
    /// Of nothing so far.
    pub fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Takes in more.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Takes in the rest of a file.
    pub fn read(&mut self, file: &mut File) -> std::io::Result<()> {
        let mut piece = vec![0; PIECE];
        loop {
            match file.read(&mut piece)? {
                0 => return Ok(()),
                read => self.update(&piece[..read]),
            }
        }
    }

    /// The digest in lower-case hexadecimal.
    pub fn finish(self) -> String {
        HEXLOWER.encode(self.0.finish().as_ref())
    }
}

/// SHA-256 of a whole file.
pub fn of_file(path: &Path) -> std::io::Result<String> {
    let mut digest = Digest::new();
    digest.read(&mut File::open(path)?)?;
    Ok(digest.finish())
}
