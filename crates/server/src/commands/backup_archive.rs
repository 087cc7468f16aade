//! The archive of a backup: a tar file, compressed with Zstandard, that begins with its manifest.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use domain::Timestamp;
use serde::{Deserialize, Serialize};
use storage::backup::DatabaseKind;
use tar::{EntryType, Header};
use tempfile::NamedTempFile;

use crate::digest::{self, Digest};

/// Version of the archive's format. A program reads archives of its own version and of earlier ones.
pub const FORMAT_VERSION: u32 = 2;
/// Format of archives without objects, which earlier versions can read.
pub const FORMAT_VERSION_WITHOUT_OBJECTS: u32 = 1;
/// Name of the manifest in the archive.
const MANIFEST_NAME: &str = "manifest.json";
/// Maximum size of the manifest, in bytes.
const MAX_MANIFEST_BYTES: u64 = 64 * 1024;
/// Compression level: the library's default, which is faster than most disks.
const COMPRESSION_LEVEL: i32 = 3;
/// Size of a read, in bytes.
const READ_BYTES: usize = 1 << 20;
/// Permissions of files: only their owner can read them.
const PRIVATE_FILE_MODE: u32 = 0o600;

/// A file that a backup can contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackupFile {
    /// A SQLite file.
    Sqlite,
    /// An archive of `pg_dump`.
    Postgres,
    /// A tar file of the objects of files, by their keys.
    Objects,
    /// The master key, in base64.
    MasterKey,
    /// The file of `CHAT_JWT_KEYS`.
    JwtKeys,
}

impl BackupFile {
    const ALL: [Self; 5] = [Self::Sqlite, Self::Postgres, Self::Objects, Self::MasterKey, Self::JwtKeys];

    /// Returns the file that holds a database of this kind.
    pub fn of_database(kind: DatabaseKind) -> Self {
        match kind {
            DatabaseKind::Sqlite => Self::Sqlite,
            DatabaseKind::Postgres => Self::Postgres,
        }
    }

    /// Returns the name in the archive.
    pub fn archive_name(self) -> &'static str {
        match self {
            Self::Sqlite => "database.sqlite",
            Self::Postgres => "database.dump",
            Self::Objects => "objects.tar",
            Self::MasterKey => "keys/master.key",
            Self::JwtKeys => "keys/jwt-keys.json",
        }
    }

    /// Returns the path of the file in a folder to which the archive is unpacked. It does not depend on the archive.
    pub fn path_in(self, folder: &Path) -> PathBuf {
        folder.join(match self {
            Self::Sqlite => "database.sqlite",
            Self::Postgres => "database.dump",
            Self::Objects => "objects.tar",
            Self::MasterKey => "master.key",
            Self::JwtKeys => "jwt-keys.json",
        })
    }

    fn of_archive_name(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|file| file.archive_name().as_bytes() == name)
    }
}

/// Description of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupManifest {
    /// [`FORMAT_VERSION`] of the program that wrote it.
    pub format_version: u32,
    /// Version of the program that wrote it.
    pub program_version: String,
    /// Newest migration in the database.
    pub schema_version: i64,
    /// PostgreSQL's schema that was copied.
    pub schema_name: Option<String>,
    /// `sqlite` or `postgres`.
    pub database: String,
    /// Time, in RFC 3339.
    pub created_at: String,
    /// Whether the backup contains the keys.
    pub has_keys: bool,
    /// Number of files whose content the object storage had lost, so that the backup lacks it.
    #[serde(default)]
    pub missing_files: u64,
    /// The other files of the archive.
    pub files: Vec<ManifestFile>,
}

/// A file in the [`BackupManifest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Name in the archive.
    pub name: String,
    /// Size, in bytes.
    pub size: u64,
    /// SHA-256, in lower-case hexadecimal.
    pub sha256: String,
}

/// The part of a manifest that all formats have.
#[derive(Deserialize)]
struct ManifestHead {
    format_version: u32,
}

impl ManifestFile {
    /// Describes a file.
    pub fn new(file: BackupFile, path: &Path) -> io::Result<Self> {
        let name = file.archive_name().to_owned();
        Ok(Self { name, size: path.metadata()?.len(), sha256: digest::of_file(path)? })
    }
}

impl BackupManifest {
    /// Returns whether the backup has this file.
    pub fn contains(&self, file: BackupFile) -> bool {
        self.files.iter().any(|entry| entry.name == file.archive_name())
    }

    fn parse(text: &[u8]) -> anyhow::Result<Self> {
        let head: ManifestHead = serde_json::from_slice(text).context("its manifest cannot be read")?;
        ensure!(
            head.format_version <= FORMAT_VERSION,
            "it was written by a newer version of this program (its format is {}, this one knows {FORMAT_VERSION}); \
             restore it with that version",
            head.format_version
        );
        let manifest: Self = serde_json::from_slice(text).context("its manifest cannot be read")?;
        let mut names = BTreeSet::new();
        for file in &manifest.files {
            let is_known = BackupFile::of_archive_name(file.name.as_bytes()).is_some();
            ensure!(is_known && names.insert(&file.name), "its manifest names an unexpected file {:?}", file.name);
        }
        Ok(manifest)
    }
}

/// Returns the time as a part of file names: `20261121T100000Z`.
pub fn file_name_time(time: Timestamp) -> String {
    let date_and_time: String = time.to_rfc3339().chars().take(19).filter(|char| !matches!(char, '-' | ':')).collect();
    format!("{date_and_time}Z")
}

/// Returns the time, to the microsecond, as a part of names of files that must not exist: `20261121T100000.123456Z`.
pub fn unique_file_name_time(time: Timestamp) -> String {
    time.to_rfc3339().chars().filter(|char| !matches!(char, '-' | ':')).collect()
}

/// Writes an archive to the new file `target`. It appears there complete, or not at all.
///
/// # Errors
///
/// A file cannot be read or written, or the target exists.
pub fn write(target: &Path, manifest: &BackupManifest, files: &[(BackupFile, PathBuf)]) -> anyhow::Result<()> {
    let folder = parent_of(target);
    let cannot_write = || format!("cannot write {}", target.display());
    // Readable by its owner only, and removed when it is dropped before it has its final name.
    let partial = tempfile::Builder::new()
        .prefix(".ai-chat-mcp-backup-")
        .suffix(".partial")
        .tempfile_in(folder)
        .with_context(cannot_write)?;
    write_entries(&partial, manifest, files).and_then(|()| partial.as_file().sync_all()).with_context(cannot_write)?;
    partial.persist_noclobber(target).map_err(|error| error.error).with_context(cannot_write)?;
    sync_folder(folder).with_context(cannot_write)
}

fn write_entries(
    partial: &NamedTempFile,
    manifest: &BackupManifest,
    files: &[(BackupFile, PathBuf)],
) -> io::Result<()> {
    let mut encoder = zstd::Encoder::new(BufWriter::new(partial.as_file()), COMPRESSION_LEVEL)?;
    encoder.include_checksum(true)?;
    let mut archive = tar::Builder::new(encoder);
    let text = serde_json::to_vec_pretty(manifest)?;
    append(&mut archive, MANIFEST_NAME, text.len() as u64, text.as_slice())?;
    for (file, path) in files {
        let source = File::open(path)?;
        let size = source.metadata()?.len();
        append(&mut archive, file.archive_name(), size, BufReader::with_capacity(READ_BYTES, source))?;
    }
    archive.into_inner()?.finish()?.flush()
}

/// Appends a file that only its owner can read.
pub fn append<W: Write>(archive: &mut tar::Builder<W>, name: &str, size: u64, content: impl Read) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_mode(PRIVATE_FILE_MODE);
    header.set_size(size);
    archive.append_data(&mut header, name, content)
}

/// Reads an archive from its beginning to its end, checks everything that its manifest says, and writes its files into
/// a folder, each to its [`path_in`](BackupFile::path_in). Names in the archive are compared only, never used as paths.
///
/// # Errors
///
/// The archive cannot be read, is damaged, is of a newer format, or contains anything but the manifest's regular files.
pub fn unpack(archive: &Path, folder: &Path) -> anyhow::Result<BackupManifest> {
    let file = File::open(archive).with_context(|| format!("cannot read {}", archive.display()))?;
    let decoder = zstd::Decoder::new(file).context("the archive cannot be read")?;
    unpack_entries(decoder, folder).with_context(|| format!("{} cannot be restored", archive.display()))
}

fn unpack_entries(decoder: impl Read, folder: &Path) -> anyhow::Result<BackupManifest> {
    let mut archive = tar::Archive::new(decoder);
    let mut entries = archive.entries()?;
    let first = entries.next().context("it is empty")?.context("it is damaged, or not a backup")?;
    ensure!(is_file(&first, MANIFEST_NAME.as_bytes()), "it does not begin with a manifest, so it is not a backup");
    let mut text = Vec::new();
    first.take(MAX_MANIFEST_BYTES).read_to_end(&mut text).context("it is damaged")?;
    let manifest = BackupManifest::parse(&text)?;
    let mut missing: Vec<&ManifestFile> = manifest.files.iter().collect();
    for entry in entries {
        let mut entry = entry.context("it is damaged")?;
        let position = missing.iter().position(|file| is_file(&entry, file.name.as_bytes()));
        let Some(position) = position else {
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            bail!("it contains {name:?}, which is not in its manifest");
        };
        let expected = missing.swap_remove(position);
        let file = BackupFile::of_archive_name(expected.name.as_bytes()).context("it contains an unknown file")?;
        ensure!(entry.size() == expected.size, "it is damaged: {} has a wrong size", expected.name);
        let hash = write_file(&mut entry, &file.path_in(folder)).with_context(|| format!("at {}", expected.name))?;
        ensure!(hash == expected.sha256, "it is damaged: {} has a wrong SHA-256", expected.name);
    }
    if let Some(file) = missing.first() {
        bail!("it is incomplete: {} is missing", file.name);
    }
    // To the end of the compressed data, where its checksum is.
    io::copy(&mut archive.into_inner(), &mut io::sink()).context("it is damaged")?;
    Ok(manifest)
}

/// Returns whether an entry is a regular file of this name. Links and devices are not.
fn is_file<R: Read>(entry: &tar::Entry<'_, R>, name: &[u8]) -> bool {
    entry.header().entry_type() == EntryType::Regular && *entry.path_bytes() == *name
}

/// Writes a new file that only its owner can read, and returns its SHA-256.
fn write_file(content: &mut impl Read, path: &Path) -> anyhow::Result<String> {
    let mut target = OpenOptions::new().write(true).create_new(true).mode(PRIVATE_FILE_MODE).open(path)?;
    let mut digest = Digest::new();
    let mut piece = vec![0; READ_BYTES];
    loop {
        let read = content.read(&mut piece).context("the archive is damaged")?;
        if read == 0 {
            break;
        }
        digest.update(&piece[..read]);
        target.write_all(&piece[..read]).with_context(|| format!("cannot write {}", path.display()))?;
    }
    target.sync_all().with_context(|| format!("cannot write {}", path.display()))?;
    Ok(digest.finish())
}

/// Returns the folder of a path.
pub fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes new names in a folder durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use tempfile::TempDir;

    use super::*;

    struct Fixture {
        folder: TempDir,
        manifest: BackupManifest,
        files: Vec<(BackupFile, PathBuf)>,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = TempDir::new().unwrap();
            let path = folder.path().join("source");
            std::fs::write(&path, vec![7; 30_000]).unwrap();
            let manifest = BackupManifest {
                format_version: FORMAT_VERSION,
                program_version: "1.2.3".to_owned(),
                schema_version: 100,
                schema_name: None,
                database: "sqlite".to_owned(),
                created_at: Timestamp(0).to_rfc3339(),
                has_keys: false,
                missing_files: 0,
                files: vec![ManifestFile::new(BackupFile::Sqlite, &path).unwrap()],
            };
            Self { folder, manifest, files: vec![(BackupFile::Sqlite, path)] }
        }

        /// Writes the archive and reads it.
        fn read_back(&self) -> anyhow::Result<BackupManifest> {
            let target = self.folder.path().join("backup.tar.zst");
            drop(std::fs::remove_file(&target));
            write(&target, &self.manifest, &self.files)?;
            unpack(&target, TempDir::new().unwrap().path())
        }

        fn refusal(&self) -> String {
            format!("{:#}", self.read_back().unwrap_err())
        }
    }

    /// Returns the message for an archive of the manifest and one more entry.
    fn refusal_of(entry_type: EntryType, name: &[u8]) -> String {
        let fixture = Fixture::new();
        let mut archive = tar::Builder::new(Vec::new());
        let text = serde_json::to_vec(&fixture.manifest).unwrap();
        append(&mut archive, MANIFEST_NAME, text.len() as u64, text.as_slice()).unwrap();
        let mut header = Header::new_gnu();
        header.set_entry_type(entry_type);
        header.set_size(0);
        header.as_old_mut().name[..name.len()].copy_from_slice(name);
        header.set_link_name("/etc/passwd").unwrap();
        header.set_cksum();
        archive.append(&header, io::empty()).unwrap();
        let bytes = archive.into_inner().unwrap();
        format!("{:#}", unpack_entries(bytes.as_slice(), fixture.folder.path()).unwrap_err())
    }

    #[test]
    fn reads_what_it_wrote() {
        let fixture = Fixture::new();
        assert_eq!(fixture.read_back().unwrap(), fixture.manifest);
        let target = fixture.folder.path().join("backup.tar.zst");
        assert_eq!(target.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let error = write(&target, &fixture.manifest, &fixture.files).unwrap_err();
        assert!(format!("{error:#}").contains("exists"), "an existing file is never replaced: {error:#}");
        assert_eq!(std::fs::read_dir(fixture.folder.path()).unwrap().count(), 2, "and nothing else remains");
    }

    #[test]
    fn damage_is_detected_or_changes_nothing() {
        let fixture = Fixture::new();
        fixture.read_back().unwrap();
        let target = fixture.folder.path().join("backup.tar.zst");
        let whole = std::fs::read(&target).unwrap();
        let mut harmless = 0;
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x10;
            std::fs::write(&target, &damaged).unwrap();
            let folder = TempDir::new().unwrap();
            // Some bits of the frame's header have no meaning, or ask for more memory only.
            if let Ok(manifest) = unpack(&target, folder.path()) {
                harmless += 1;
                assert_eq!(manifest, fixture.manifest);
                assert_eq!(std::fs::read(BackupFile::Sqlite.path_in(folder.path())).unwrap(), vec![7; 30_000]);
            }
            std::fs::write(&target, &whole[..at]).unwrap();
            assert!(unpack(&target, TempDir::new().unwrap().path()).is_err(), "cut at {at}");
        }
        assert!(harmless * 20 < whole.len(), "{harmless} of {}", whole.len());
    }

    #[test]
    fn rejects_wrong_manifests() {
        let mut fixture = Fixture::new();
        fixture.manifest.format_version = FORMAT_VERSION + 1;
        assert!(fixture.refusal().contains("newer version"), "{}", fixture.refusal());
        let mut fixture = Fixture::new();
        fixture.manifest.files[0].sha256 = "0".repeat(64);
        assert!(fixture.refusal().contains("wrong SHA-256"), "{}", fixture.refusal());
        let mut fixture = Fixture::new();
        fixture.manifest.files[0].size += 1;
        assert!(fixture.refusal().contains("wrong size"), "{}", fixture.refusal());
        let mut fixture = Fixture::new();
        fixture.manifest.files[0].name = "../database.sqlite".to_owned();
        assert!(fixture.refusal().contains("unexpected file"), "{}", fixture.refusal());
        let mut fixture = Fixture::new();
        fixture.files.clear();
        assert!(fixture.refusal().contains("database.sqlite is missing"), "{}", fixture.refusal());
        let mut fixture = Fixture::new();
        fixture.manifest.files.clear();
        assert!(fixture.refusal().contains("not in its manifest"), "{}", fixture.refusal());
    }

    #[test]
    fn rejects_everything_but_the_expected_regular_files() {
        for (entry_type, name) in [
            (EntryType::Regular, &b"../../escaped"[..]),
            (EntryType::Regular, b"/tmp/escaped"),
            (EntryType::Symlink, b"database.sqlite"),
            (EntryType::Link, b"database.sqlite"),
            (EntryType::Directory, b"database.sqlite"),
            (EntryType::Fifo, b"database.sqlite"),
        ] {
            let message = refusal_of(entry_type, name);
            assert!(message.contains("not in its manifest"), "{entry_type:?}: {message}");
        }
    }

    #[test]
    fn names_files_by_time() {
        assert_eq!(file_name_time(Timestamp(1_795_255_200_000_000)), "20261121T100000Z");
    }
}
