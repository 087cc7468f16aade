//! An S3 server that keeps its objects in a folder, and that can fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s_fs::FileSystem;
use tempfile::TempDir;

use crate::background::Background;

const BUCKET: &str = "chat-files";
const ACCESS_KEY_ID: &str = "tester";
const SECRET_ACCESS_KEY: &str = "secret-of-the-tester";

/// Failures that the server can simulate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum S3Failure {
    /// Every request is answered with 500.
    Down,
    /// Every request is answered after this time.
    Slow(Duration),
}

/// An S3 server with one bucket on a free port. It checks signatures. It stops when it is dropped.
#[derive(Debug)]
pub struct S3Server {
    folder: TempDir,
    failure: Arc<Mutex<Option<S3Failure>>>,
    server: Background,
}

impl S3Server {
    /// Starts the server.
    pub async fn start() -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut builder = S3ServiceBuilder::new(FileSystem::new(folder.path()).unwrap());
        builder.set_auth(SimpleAuth::from_single(ACCESS_KEY_ID, SECRET_ACCESS_KEY));
        let service = builder.build();
        let failure: Arc<Mutex<Option<S3Failure>>> = Arc::default();
        let simulated = Arc::clone(&failure);
        let answer = move |request: Request| {
            let (service, failure) = (service.clone(), *simulated.lock().unwrap());
            async move { respond(&service, failure, request).await }
        };
        let server = Background::serve(Router::new().fallback(answer)).await;
        Self { folder, failure, server }
    }

    /// Returns the settings with which files are stored here.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        [vec![("CHAT_FILES", format!("s3://{BUCKET}/chat"))], self.access()].concat()
    }

    /// Returns the settings of the access alone.
    pub fn access(&self) -> Vec<(&'static str, String)> {
        vec![
            ("CHAT_FILES_TIMEOUT", "1".to_owned()),
            ("AWS_ENDPOINT_URL", self.server.origin.clone()),
            ("AWS_ACCESS_KEY_ID", ACCESS_KEY_ID.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET_ACCESS_KEY.to_owned()),
        ]
    }

    /// Simulates a failure, or ends it.
    pub fn fail(&self, failure: Option<S3Failure>) {
        *self.failure.lock().unwrap() = failure;
    }

    /// Returns the files with the objects, as the server stores them, in alphabetical order.
    pub fn objects(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        collect(&self.folder.path().join(BUCKET), &mut files);
        files.sort();
        files
    }

    /// Creates another bucket with a copy of all objects, and returns its location.
    pub fn copy_bucket(&self, name: &str) -> String {
        let (from, to) = (self.folder.path().join(BUCKET), self.folder.path().join(name));
        for object in self.objects() {
            let target = to.join(object.strip_prefix(&from).unwrap());
            fs::create_dir_all(target.parent().unwrap()).unwrap();
            fs::copy(&object, target).unwrap();
        }
        format!("s3://{name}/chat")
    }

    /// Creates another, empty bucket and returns its location.
    pub fn create_bucket(&self, name: &str) -> String {
        fs::create_dir(self.folder.path().join(name)).unwrap();
        format!("s3://{name}/chat")
    }
}

async fn respond(service: &S3Service, failure: Option<S3Failure>, request: Request) -> Response {
    match failure {
        Some(S3Failure::Down) => return StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        Some(S3Failure::Slow(time)) => tokio::time::sleep(time).await,
        None => {}
    }
    match service.call(request.map(s3s::Body::http_body_unsync)).await {
        Ok(response) => response.map(Body::new),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
