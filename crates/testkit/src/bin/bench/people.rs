//! People who call the program.

use reqwest::{Client, Method, RequestBuilder};
use serde_json::{Value, json};

/// Somebody with an account.
pub struct Somebody {
    /// Shows who they are.
    pub token: String,
    /// Their id.
    pub id: String,
}

/// Makes an account.
pub async fn sign_up(http: &Client, url: &str) -> Somebody {
    let email = format!("{}@example.com", domain::ids::fresh().simple());
    let account = json!({ "email": email, "password": "correct horse" });
    let session: Value =
        http.post(format!("{url}/auth/v1/signup")).json(&account).send().await.unwrap().json().await.unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    Somebody { token: text(&session["access_token"]), id: text(&session["user"]["id"]) }
}

/// Makes a chat, and gives its id.
pub async fn new_chat(http: &Client, url: &str, token: &str) -> Value {
    let body = json!({ "title": "New Chat" });
    insert(http.post(format!("{url}/rest/v1/ai_chat_sessions?select=id")).bearer_auth(token), &body).await
}

impl Somebody {
    /// A request of theirs.
    pub fn request(&self, http: &Client, method: Method, url: String) -> RequestBuilder {
        http.request(method, url).bearer_auth(&self.token)
    }

    /// Stores a connection with the tools that were found, and gives its id.
    pub async fn connect(&self, http: &Client, url: &str, name: &str, to: &str, tools: Value) -> Value {
        let row = json!({ "user_id": self.id, "name": name, "url": to, "tools": tools, "status": "connected" });
        insert(self.request(http, Method::POST, format!("{url}/rest/v1/mcp_servers?select=id")), &row).await
    }
}

async fn insert(request: RequestBuilder, row: &Value) -> Value {
    let request = request.header("prefer", "return=representation").json(row);
    let rows: Value = request.send().await.unwrap().json().await.unwrap();
    rows[0]["id"].clone()
}
