//! Object storage: a bucket of an S3-compatible service that holds the content of files in place of the database.
//!
//! Each content is written once, under a new key `<installation>/<owner>/<random id>`, and never changed. The
//! installation's id is a row of the database, so that two installations can share a bucket and none deletes what the
//! other one needs.

use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use bytes::Bytes;
use domain::{Timestamp, UserId, ids};
use futures_util::StreamExt;
use futures_util::stream::BoxStream;
use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, ObjectStoreExt, RetryConfig};
use secrecy::{ExposeSecret, SecretString};
use url::Url;
use uuid::Uuid;

use crate::db_macros::{read, write};
use crate::{Error, Storage};

/// Maximum time to connect. Shorter than any deadline, so that an unreachable service is tried again within it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Number of times that a failed request is repeated.
const MAX_RETRIES: usize = 2;
/// Name of the object that [`Bucket::check`] writes.
const PROBE_NAME: &str = "probe";
/// Content of that object.
const PROBE_CONTENT: &[u8] = b"ai-chat-mcp";

/// A bucket, and a folder in it: `s3://bucket/folder`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BucketLocation {
    bucket: String,
    /// Empty, or names that are separated by slashes.
    folder: String,
}

/// The text is not a [`BucketLocation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it must be s3://bucket or s3://bucket/folder, of letters, digits, dots, hyphens and underscores")]
pub struct InvalidLocation;

impl FromStr for BucketLocation {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let rest = text.strip_prefix("s3://").ok_or(InvalidLocation)?;
        let (bucket, folder) = rest.split_once('/').unwrap_or((rest, ""));
        let folder = folder.trim_end_matches('/');
        let is_name = |name: &str| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
                && !matches!(name, "" | "." | "..")
        };
        let is_bucket = is_name(bucket) && (3..=63).contains(&bucket.len());
        if !is_bucket || !(folder.is_empty() || folder.split('/').all(is_name)) {
            return Err(InvalidLocation);
        }
        Ok(Self { bucket: bucket.to_owned(), folder: folder.to_owned() })
    }
}

impl fmt::Display for BucketLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.folder.is_empty() { "" } else { "/" };
        std::write!(f, "s3://{}{separator}{}", self.bucket, self.folder)
    }
}

/// Address and keys of the bucket's service.
#[derive(Debug, Clone)]
pub struct S3Access {
    /// Region. Most services other than Amazon's ignore it.
    pub region: String,
    /// Address of the service; `None` for Amazon's.
    pub endpoint: Option<Url>,
    /// Id of the key.
    pub access_key_id: SecretString,
    /// The key.
    pub secret_access_key: SecretString,
}

/// Settings of the place of files.
#[derive(Debug, Clone)]
pub struct FileStorageSettings {
    /// Bucket for the content of new files; `None`: the database.
    pub location: Option<BucketLocation>,
    /// Access to the bucket. It is also needed while the database is the place of new files and older ones are in a
    /// bucket.
    pub access: Option<S3Access>,
    /// Maximum time to write or read one object.
    pub timeout: Duration,
}

impl FileStorageSettings {
    /// Returns the bucket at `location` with the access of the settings, without a request.
    ///
    /// # Errors
    ///
    /// [`FileStorageError::NoAccess`] or [`FileStorageError::Invalid`].
    pub fn open(&self, location: &BucketLocation) -> Result<Bucket, FileStorageError> {
        let access = self.access.as_ref().ok_or_else(|| FileStorageError::NoAccess(location.to_string()))?;
        Bucket::new(location, access, self.timeout)
    }
}

/// The reason why a server cannot start with its [`FileStorageSettings`]. The messages are for operators.
#[derive(Debug, thiserror::Error)]
pub enum FileStorageError {
    /// The client rejects the settings.
    #[error("the settings of CHAT_FILES are invalid: {0}")]
    Invalid(String),
    /// Files are in a bucket for which there is no access.
    #[error(
        "files are in {0}; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or move them into the database with \
         `ai-chat-mcp files move --to database`"
    )]
    NoAccess(String),
    /// Files are in another bucket than the settings say.
    #[error(
        "files are in {recorded} and not in {configured}; copy the objects there first, or set CHAT_FILES={recorded}"
    )]
    OtherLocation {
        /// Where they are.
        recorded: String,
        /// Where they should be.
        configured: BucketLocation,
    },
    /// Whether the files are there cannot be found out.
    #[error("files are in {recorded}, and {configured} cannot be examined: {reason}")]
    Unexamined {
        /// Where they are.
        recorded: String,
        /// Where they should be.
        configured: BucketLocation,
        /// Error of the service.
        reason: String,
    },
    /// The database failed.
    #[error(transparent)]
    Storage(#[from] Error),
}

/// A bucket with access to it.
#[derive(Debug, Clone)]
pub struct Bucket {
    client: Arc<dyn ObjectStore>,
    location: BucketLocation,
    timeout: Duration,
}

/// An object in a listing of a bucket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StoredObject {
    /// Key, as in the database.
    pub key: String,
    /// Time at which it was written, by the clock of the service.
    pub written_at: Timestamp,
}

impl Bucket {
    fn new(location: &BucketLocation, access: &S3Access, timeout: Duration) -> Result<Self, FileStorageError> {
        let options = ClientOptions::new().with_connect_timeout(CONNECT_TIMEOUT).with_timeout(timeout);
        let retry = RetryConfig {
            max_retries: MAX_RETRIES,
            retry_timeout: timeout,
            backoff: BackoffConfig { max_backoff: Duration::from_secs(1), ..BackoffConfig::default() },
        };
        let mut builder = AmazonS3Builder::new()
            .with_bucket_name(&location.bucket)
            .with_region(&access.region)
            .with_access_key_id(access.access_key_id.expose_secret())
            .with_secret_access_key(access.secret_access_key.expose_secret())
            .with_retry(retry);
        if let Some(endpoint) = &access.endpoint {
            // The operator decides whether the way to the service needs encryption.
            builder = builder.with_endpoint(endpoint.as_str().trim_end_matches('/')).with_allow_http(true);
        }
        // After `with_allow_http`, which changes these options.
        let options = options.with_allow_http(access.endpoint.is_some());
        let client = builder
            .with_client_options(options)
            .build()
            .map_err(|error| FileStorageError::Invalid(error.to_string()))?;
        Ok(Self { client: Arc::new(client), location: location.clone(), timeout })
    }

    /// Returns where the bucket is.
    pub fn location(&self) -> &BucketLocation {
        &self.location
    }

    fn path(&self, key: &str) -> Result<Path, Error> {
        let separator = if self.location.folder.is_empty() { "" } else { "/" };
        Path::parse(format!("{}{separator}{key}", self.location.folder))
            .map_err(|error| Error::Corrupt(format!("a key of an object: {error}")))
    }

    /// Runs a request within the deadline.
    async fn within_deadline<T>(
        &self,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T, object_store::Error> {
        tokio::time::timeout(self.timeout, request).await.unwrap_or_else(|_| {
            let reason = format!("no complete answer within {} s", self.timeout.as_secs_f32());
            Err(object_store::Error::Generic { store: "S3", source: reason.into() })
        })
    }

    pub(crate) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), Error> {
        let path = self.path(key)?;
        self.within_deadline(self.client.put(&path, bytes.into())).await.map_err(|error| outage(&error))?;
        Ok(())
    }

    /// Returns the content of an object; `None` if it does not exist or is not `size` bytes with this SHA-256.
    pub(crate) async fn get(&self, key: &str, size: u64, sha256: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path(key)?;
        let request = async {
            let found = self.client.get(&path).await?;
            // Nothing of an object that cannot be the right one is read.
            if found.meta.size == size { found.bytes().await.map(Some) } else { Ok(None) }
        };
        match self.within_deadline(request).await {
            Ok(bytes) => Ok(bytes.filter(|bytes| hash(bytes) == sha256).map(Vec::from)),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(outage(&error)),
        }
    }

    /// Returns the content of an object, whatever it is; `None` if it does not exist.
    pub(crate) async fn get_any(&self, key: &str) -> Result<Option<Vec<u8>>, Error> {
        let path = self.path(key)?;
        let request = async { self.client.get(&path).await?.bytes().await };
        match self.within_deadline(request).await {
            Ok(bytes) => Ok(Some(bytes.into())),
            Err(object_store::Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(outage(&error)),
        }
    }

    async fn contains(&self, key: &str) -> Result<bool, Error> {
        let path = self.path(key)?;
        match self.within_deadline(self.client.head(&path)).await {
            Ok(_) => Ok(true),
            Err(object_store::Error::NotFound { .. }) => Ok(false),
            Err(error) => Err(outage(&error)),
        }
    }

    /// Deletes an object, if it exists.
    pub(crate) async fn delete(&self, key: &str) -> Result<(), Error> {
        let path = self.path(key)?;
        match self.within_deadline(self.client.delete(&path)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(outage(&error)),
        }
    }

    /// Lists the objects below a folder of keys.
    pub(crate) fn list(&self, folder: &str) -> Result<BoxStream<'static, Result<StoredObject, Error>>, Error> {
        let path = self.path(folder)?;
        let skipped = self.path("")?.as_ref().len();
        let skipped = if skipped == 0 { 0 } else { skipped + 1 };
        let objects = self.client.list(Some(&path)).map(move |object| {
            let object = object.map_err(|error| outage(&error))?;
            let key = object.location.as_ref().get(skipped..).unwrap_or_default().to_owned();
            Ok(StoredObject { key, written_at: Timestamp(object.last_modified.timestamp_micros()) })
        });
        Ok(objects.boxed())
    }

    /// Writes, reads and deletes an object, as files need it.
    ///
    /// # Errors
    ///
    /// [`Error::FileStorage`] with what cannot be done.
    pub async fn check(&self) -> Result<(), Error> {
        let key = format!("{PROBE_NAME}/{}", ids::fresh());
        let failed = |what: &str, error: Error| match error {
            Error::FileStorage(reason) => Error::FileStorage(format!("cannot {what} an object: {reason}")),
            other => other,
        };
        self.put(&key, Bytes::from_static(PROBE_CONTENT)).await.map_err(|error| failed("write", error))?;
        let read = self.get(&key, PROBE_CONTENT.len() as u64, &hash(PROBE_CONTENT)).await;
        let deleted = self.delete(&key).await;
        let is_same = read.map_err(|error| failed("read", error))?.is_some();
        deleted.map_err(|error| failed("delete", error))?;
        if is_same { Ok(()) } else { Err(Error::FileStorage("an object is not what was written".to_owned())) }
    }
}

/// Returns the SHA-256 of bytes.
pub(crate) fn hash(bytes: &[u8]) -> Vec<u8> {
    digest(&SHA256, bytes).as_ref().to_vec()
}

/// Returns the error for a service that cannot be used.
fn outage(error: &object_store::Error) -> Error {
    Error::FileStorage(error.to_string())
}

/// The bucket of an installation.
#[derive(Debug)]
pub(crate) struct ObjectStorage {
    pub bucket: Bucket,
    /// Id of the installation, with which its keys begin.
    pub installation: Uuid,
    /// Whether the content of new files is stored here.
    pub is_for_new_files: bool,
}

impl ObjectStorage {
    /// Returns a new key for a file of an owner.
    pub(crate) fn new_key(&self, owner: UserId) -> String {
        format!("{}/{}/{}", self.installation, owner, ids::fresh())
    }
}

const GET_INSTALLATION: &str = "SELECT id, location FROM object_storage";

const INSERT_INSTALLATION: &str =
    "INSERT INTO object_storage (is_only, id, location) VALUES (1, $1, $2) ON CONFLICT (is_only) DO NOTHING";

const SET_LOCATION: &str = "UPDATE object_storage SET location = $1";

const GET_ANY_KEY: &str = "SELECT object_key FROM files WHERE object_key IS NOT NULL LIMIT 1";

const GET_ANY_DELETION: &str = "SELECT object_key FROM object_deletions LIMIT 1";

impl Storage {
    /// Adds the bucket of the settings, and that of files which are stored already. It makes a request only if the
    /// settings name another bucket than before: the objects must have been copied there.
    ///
    /// # Errors
    ///
    /// [`FileStorageError`] if files could not be read with these settings.
    pub async fn with_file_storage(self, settings: &FileStorageSettings) -> Result<Self, FileStorageError> {
        let Some(location) = self.file_location(settings).await? else { return Ok(self) };
        let bucket = settings.open(&location)?;
        let installation = match self.installation().await? {
            Some((id, recorded)) => {
                if recorded != location.to_string() {
                    self.change_location(recorded, &bucket).await?;
                }
                id
            }
            None => self.insert_installation(&location).await?,
        };
        let is_for_new_files = settings.location.is_some();
        let objects = ObjectStorage { bucket, installation, is_for_new_files };
        Ok(Self { objects: Some(Arc::new(objects)), ..self })
    }

    /// Returns where a server with these settings looks for files, apart from the database: in the bucket of the
    /// settings, or else in the one where files are already.
    ///
    /// # Errors
    ///
    /// The database cannot be read.
    pub async fn file_location(
        &self,
        settings: &FileStorageSettings,
    ) -> Result<Option<BucketLocation>, FileStorageError> {
        if settings.location.is_some() {
            return Ok(settings.location.clone());
        }
        match self.installation().await? {
            Some((_, recorded)) if self.needs_bucket(settings.access.is_some()).await? => {
                let invalid = |error: InvalidLocation| FileStorageError::Invalid(error.to_string());
                recorded.parse().map(Some).map_err(invalid)
            }
            _ => Ok(None),
        }
    }

    /// Returns whether contents of files are, or may be, in object storage.
    pub fn has_object_storage(&self) -> bool {
        self.objects.is_some()
    }

    /// Records another location, if the objects are there.
    async fn change_location(&self, recorded: String, bucket: &Bucket) -> Result<(), FileStorageError> {
        let configured = bucket.location.clone();
        if let Some(key) = self.any_object_key().await? {
            match bucket.contains(&key).await {
                Ok(true) => {}
                Ok(false) => return Err(FileStorageError::OtherLocation { recorded, configured }),
                Err(error) => {
                    return Err(FileStorageError::Unexamined { recorded, configured, reason: error.to_string() });
                }
            }
        }
        let location = configured.to_string();
        write!(self, |c| sqlx::query(SET_LOCATION).bind(&location).execute(c).await.map(|done| done.rows_affected()))
            .map_err(Error::from)?;
        Ok(())
    }

    pub(crate) async fn installation(&self) -> Result<Option<(Uuid, String)>, Error> {
        Ok(read!(self, |c| sqlx::query_as(GET_INSTALLATION).fetch_optional(c).await)?)
    }

    /// Creates the id of the installation, unless another node has done so at the same time.
    async fn insert_installation(&self, location: &BucketLocation) -> Result<Uuid, Error> {
        let (id, location) = (ids::fresh(), location.to_string());
        write!(self, |c| sqlx::query(INSERT_INSTALLATION)
            .bind(id)
            .bind(&location)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        Ok(self.installation().await?.map_or(id, |(id, _)| id))
    }

    /// Returns whether files are in the bucket, or whether there is access to it and objects are still to be deleted.
    async fn needs_bucket(&self, has_access: bool) -> Result<bool, Error> {
        if self.any_object_key().await?.is_some() {
            return Ok(true);
        }
        let deletion: Option<String> = read!(self, |c| sqlx::query_scalar(GET_ANY_DELETION).fetch_optional(c).await)?;
        Ok(has_access && deletion.is_some())
    }

    async fn any_object_key(&self) -> Result<Option<String>, Error> {
        Ok(read!(self, |c| sqlx::query_scalar(GET_ANY_KEY).fetch_optional(c).await)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_locations() {
        for text in ["s3://chat-files", "s3://chat.files/a_b/c-d.e"] {
            assert_eq!(text.parse::<BucketLocation>().unwrap().to_string(), text);
        }
        assert_eq!("s3://chat-files/a/".parse::<BucketLocation>().unwrap().to_string(), "s3://chat-files/a");
        for text in [
            "",
            "s3://",
            "s3://ab",
            "chat-files",
            "gs://chat-files",
            "s3://chat-files/../b",
            "s3://chat-files//b",
            "s3://a b c",
        ] {
            assert_eq!(text.parse::<BucketLocation>(), Err(InvalidLocation), "{text}");
        }
    }
}
