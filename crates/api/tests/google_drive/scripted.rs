//! A scripted Google: consent, tokens and the Drive API, as strict as the real one and with its shapes.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use aws_lc_rs::digest::{SHA256, digest};
use axum::body::Bytes;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

pub const CLIENT_ID: &str = "client-1";
pub const CLIENT_SECRET: &str = "client-secret-1";
/// Lifetime of access tokens in seconds. It is shorter than that of the product's own tokens, so that a test can let
/// one expire and not the other.
pub const LIFETIME: i64 = 600;

type Fields = HashMap<String, String>;

/// State of the scripted Google.
#[derive(Default)]
pub struct Known {
    /// Codes that were issued and not used, with the parameters of their request.
    codes: HashMap<String, Fields>,
    /// Access tokens that the Drive API accepts.
    pub access: Vec<String>,
    /// Valid refresh tokens.
    pub refresh: Vec<String>,
    /// Whether each use of a refresh token replaces it.
    pub rotates: bool,
    /// Number of refreshes.
    pub renewals: usize,
    /// Revoked tokens.
    pub revoked: Vec<String>,
    /// Queries of the file listings.
    pub searches: Vec<String>,
    /// Bodies of the uploads.
    pub uploads: Vec<String>,
    /// Response of the Drive API to all requests; `None` for regular responses.
    pub refusal: Option<(u16, Value)>,
    made: usize,
}

impl Known {
    fn fresh(&mut self, kind: &str) -> String {
        self.made += 1;
        format!("{kind}-{}", self.made)
    }
}

type Shared = Arc<Mutex<Known>>;

/// A scripted Google on a free port. It stops when it is dropped.
pub struct ScriptedGoogle {
    pub url: String,
    known: Shared,
    served: JoinHandle<()>,
}

impl ScriptedGoogle {
    pub async fn start() -> Self {
        let known = Shared::default();
        let routes = Router::new()
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .route("/revoke", post(revoke))
            .route("/drive/v3/files", get(list))
            .route("/drive/v3/files/{id}", get(file))
            .route("/drive/v3/files/{id}/export", get(export))
            .route("/upload/drive/v3/files", post(upload))
            .with_state(Arc::clone(&known));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        #[expect(clippy::disallowed_methods, reason = "it is aborted when the scripted Google is dropped")]
        let served = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, known, served }
    }

    pub fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap()
    }
}

impl Drop for ScriptedGoogle {
    fn drop(&mut self) {
        self.served.abort();
    }
}

/// Gives consent immediately.
async fn authorize(State(known): State<Shared>, Query(asked): Query<Fields>) -> Response {
    for (name, value) in [
        ("client_id", CLIENT_ID),
        ("response_type", "code"),
        ("code_challenge_method", "S256"),
        ("access_type", "offline"),
        ("prompt", "consent"),
        ("scope", "https://www.googleapis.com/auth/drive.readonly https://www.googleapis.com/auth/drive.file"),
    ] {
        if asked.get(name).map(String::as_str) != Some(value) {
            return (StatusCode::BAD_REQUEST, format!("{name} is wrong")).into_response();
        }
    }
    let mut known = known.lock().unwrap();
    let code = known.fresh("code/");
    let mut back = url::Url::parse(&asked["redirect_uri"]).unwrap();
    back.query_pairs_mut().append_pair("state", &asked["state"]).append_pair("code", &code);
    known.codes.insert(code, asked);
    (StatusCode::FOUND, [(header::LOCATION, back.to_string())]).into_response()
}

fn form(body: &[u8]) -> Fields {
    url::form_urlencoded::parse(body).into_owned().collect()
}

async fn token(State(known): State<Shared>, body: Bytes) -> Response {
    let asked = form(&body);
    let mut known = known.lock().unwrap();
    let refuse = |error: &str| (StatusCode::BAD_REQUEST, Json(json!({ "error": error }))).into_response();
    if asked["client_id"] != CLIENT_ID || asked["client_secret"] != CLIENT_SECRET {
        return refuse("invalid_client");
    }
    let mut answer = json!({ "expires_in": LIFETIME, "token_type": "Bearer", "scope": "…" });
    match asked["grant_type"].as_str() {
        "authorization_code" => {
            let Some(begun) = known.codes.remove(&asked["code"]) else { return refuse("invalid_grant") };
            let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, asked["code_verifier"].as_bytes()));
            if begun["code_challenge"] != challenge || begun["redirect_uri"] != asked["redirect_uri"] {
                return refuse("invalid_grant");
            }
            let refresh = known.fresh("refresh");
            known.refresh.push(refresh.clone());
            answer["refresh_token"] = refresh.into();
        }
        "refresh_token" => {
            known.renewals += 1;
            let sent = &asked["refresh_token"];
            if !known.refresh.contains(sent) {
                return refuse("invalid_grant");
            }
            if known.rotates {
                let refresh = known.fresh("refresh");
                known.refresh = vec![refresh.clone()];
                answer["refresh_token"] = refresh.into();
            }
        }
        _ => return refuse("unsupported_grant_type"),
    }
    let access = known.fresh("access");
    known.access = vec![access.clone()];
    answer["access_token"] = access.into();
    Json(answer).into_response()
}

async fn revoke(State(known): State<Shared>, body: Bytes) -> StatusCode {
    let asked = form(&body);
    let mut known = known.lock().unwrap();
    known.refresh.retain(|token| *token != asked["token"]);
    known.revoked.push(asked["token"].clone());
    StatusCode::OK
}

fn error(status: u16, reason: &str, message: &str) -> Value {
    json!({ "error": { "code": status, "message": message, "errors": [{ "reason": reason, "message": message }] } })
}

/// Returns the error of the Drive API that precedes any look at the request.
fn refusal(known: &Known, headers: &HeaderMap) -> Option<Response> {
    let sent = headers.get(header::AUTHORIZATION).map_or("", |value| value.to_str().unwrap());
    let token = sent.strip_prefix("Bearer ").unwrap_or_default();
    let (status, body) = match &known.refusal {
        Some(refusal) => refusal.clone(),
        None if known.access.iter().any(|known| known == token) => return None,
        None => (401, error(401, "authError", "Invalid Credentials")),
    };
    Some((StatusCode::from_u16(status).unwrap(), Json(body)).into_response())
}

fn files() -> Vec<Value> {
    vec![
        json!({ "id": "doc-1", "name": "Minutes", "mimeType": "application/vnd.google-apps.document",
                "modifiedTime": "2026-11-20T10:00:00.000Z", "webViewLink": "https://docs.example/doc-1" }),
        json!({ "id": "sheet-1", "name": "Budget", "mimeType": "application/vnd.google-apps.spreadsheet" }),
        json!({ "id": "text-1", "name": "notes.txt", "mimeType": "text/plain", "size": "11" }),
        json!({ "id": "long-1", "name": "long.txt", "mimeType": "text/plain", "size": "2000000" }),
        json!({ "id": "pdf-1", "name": "plan.pdf", "mimeType": "application/pdf", "size": "52100" }),
        json!({ "id": "folder-1", "name": "Papers", "mimeType": "application/vnd.google-apps.folder" }),
        json!({ "id": "short-1", "name": "to the notes", "mimeType": "application/vnd.google-apps.shortcut",
                "shortcutDetails": { "targetId": "text-1" } }),
    ]
}

async fn list(State(known): State<Shared>, Query(asked): Query<Fields>, headers: HeaderMap) -> Response {
    let mut known = known.lock().unwrap();
    if let Some(refusal) = refusal(&known, &headers) {
        return refusal;
    }
    if asked["q"].contains("fullText") && asked.contains_key("orderBy") {
        let refused = error(403, "forbidden", "Sorting is not supported for queries with fullText terms.");
        return (StatusCode::FORBIDDEN, Json(refused)).into_response();
    }
    known.searches.push(asked["q"].clone());
    let from: usize = asked.get("pageToken").map_or(0, |token| token.parse().unwrap());
    let size: usize = asked["pageSize"].parse().unwrap();
    let all = files();
    let mut page = json!({ "files": all.iter().skip(from).take(size).collect::<Vec<_>>() });
    if from + size < all.len() {
        page["nextPageToken"] = (from + size).to_string().into();
    }
    Json(page).into_response()
}

async fn file(
    State(known): State<Shared>,
    Path(id): Path<String>,
    Query(asked): Query<Fields>,
    headers: HeaderMap,
) -> Response {
    if let Some(refusal) = refusal(&known.lock().unwrap(), &headers) {
        return refusal;
    }
    let Some(file) = files().into_iter().find(|file| file["id"] == id) else {
        return (StatusCode::NOT_FOUND, Json(error(404, "notFound", "File not found."))).into_response();
    };
    match (asked.get("alt").map(String::as_str), id.as_str()) {
        (Some("media"), "text-1") => "Hello Drive".into_response(),
        (Some("media"), "long-1") => "é".repeat(1_000_000).into_response(),
        (Some(_), _) => (StatusCode::FORBIDDEN, Json(error(403, "fileNotDownloadable", "…"))).into_response(),
        (None, _) => Json(file).into_response(),
    }
}

async fn export(
    State(known): State<Shared>,
    Path(id): Path<String>,
    Query(asked): Query<Fields>,
    headers: HeaderMap,
) -> Response {
    if let Some(refusal) = refusal(&known.lock().unwrap(), &headers) {
        return refusal;
    }
    match (id.as_str(), asked["mimeType"].as_str()) {
        ("doc-1", "text/markdown") => "# Minutes\n".into_response(),
        ("sheet-1", "text/csv") => "a,b\n1,2\n".into_response(),
        _ => (StatusCode::BAD_REQUEST, Json(error(400, "badRequest", "The conversion is not supported.")))
            .into_response(),
    }
}

async fn upload(
    State(known): State<Shared>,
    Query(asked): Query<Fields>,
    headers: HeaderMap,
    body: String,
) -> Response {
    let mut known = known.lock().unwrap();
    if let Some(refusal) = refusal(&known, &headers) {
        return refusal;
    }
    assert_eq!(asked["uploadType"], "multipart");
    let kind = headers[header::CONTENT_TYPE].to_str().unwrap();
    let boundary = kind.strip_prefix("multipart/related; boundary=").unwrap();
    let parts: Vec<&str> = body.split(&format!("--{boundary}")).collect();
    assert_eq!((parts.len(), parts[3].trim()), (4, "--"));
    let (_, metadata) = parts[1].split_once("\r\n\r\n").unwrap();
    let metadata: Value = serde_json::from_str(metadata).unwrap();
    known.uploads.push(parts[2].to_owned());
    let (name, kind) = (&metadata["name"], &metadata["mimeType"]);
    Json(json!({ "id": "new-1", "name": name, "mimeType": kind, "webViewLink": "https://drive.example/new-1" }))
        .into_response()
}
