//! Cost of connections to the server, and CORS.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use testkit::TestApp;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn who_sends_nothing_more_is_let_go() {
    let app = TestApp::start().await;
    let person = app.person().await;
    let half_sent = format!(
        "POST /api/tools/run HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {}\r\nContent-Length: 9\r\n\r\n{{",
        person.token
    );
    // HTTP/1 and HTTP/2 begin alike.
    let beginnings = ["", "GET / HTTP/1.1\r\nHo", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "P", &half_sent];
    let ends = beginnings.map(|beginning| {
        let address = app.url.strip_prefix("http://").unwrap();
        async move {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(beginning.as_bytes()).await.unwrap();
            let mut answer = Vec::new();
            // The connection ends, possibly by a reset.
            drop(stream.read_to_end(&mut answer).await);
            String::from_utf8_lossy(&answer).into_owned()
        }
    });
    let answers = futures_util::future::join_all(ends).await;
    assert!(answers[4].starts_with("HTTP/1.1 400 "), "{answers:?}");
    app.stop().await;
}

/// Returns the CORS headers of a response.
fn shared(answer: &reqwest::Response) -> Vec<(&str, &str)> {
    let headers = answer.headers().iter();
    let headers = headers.map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
    headers.filter(|(name, _)| name.starts_with("access-control-")).collect()
}

#[tokio::test]
async fn pages_of_configured_origins_may_use_what_the_official_clients_speak() {
    let app =
        TestApp::builder().set("CHAT_CORS_ORIGINS", "https://app.example.com, http://localhost:5173").start().await;
    let person = app.person().await;
    let ask = async |method: reqwest::Method, path: &str, origin: &str, preflight: bool| {
        let request = app.http.request(method, format!("{}{path}", app.url)).header("origin", origin);
        let request = if preflight { request.header("access-control-request-method", "PATCH") } else { request };
        request.bearer_auth(&person.token).send().await.unwrap()
    };
    let (get, options) = (reqwest::Method::GET, reqwest::Method::OPTIONS);
    let ours = "http://localhost:5173";
    for path in [
        "/rest/v1/ai_chat_sessions",
        "/auth/v1/token?grant_type=password",
        "/functions/v1/ai-chat",
        "/.well-known/jwks.json",
    ] {
        let before = ask(options.clone(), path, ours, true).await;
        assert_eq!(before.status(), 204, "{path}");
        let headers = shared(&before);
        let header = |name: &str| headers.iter().find(|(given, _)| *given == name).map(|(_, value)| *value).unwrap();
        assert_eq!(header("access-control-allow-origin"), ours);
        assert_eq!(header("access-control-allow-methods"), "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
        for name in [
            "authorization",
            "apikey",
            "content-type",
            "x-client-info",
            "x-supabase-api-version",
            "accept-profile",
            "content-profile",
            "prefer",
            "x-retry-count",
            "x-region",
        ] {
            assert!(header("access-control-allow-headers").split(", ").any(|given| given == name), "{name}");
        }
        assert_eq!(before.headers()["vary"], "origin");
        assert!(shared(&ask(options.clone(), path, "https://evil.example.com", true).await).is_empty(), "{path}");
    }
    let rows = ask(get.clone(), "/rest/v1/ai_chat_sessions", "https://app.example.com", false).await;
    assert_eq!((rows.status(), &rows.headers()["vary"]), (reqwest::StatusCode::OK, &"origin".parse().unwrap()));
    let exposed = rows.headers()["access-control-expose-headers"].to_str().unwrap();
    for name in ["x-supabase-api-version", "content-range", "x-relay-error", "x-total-count", "link"] {
        assert!(exposed.split(", ").any(|given| given == name), "{name}");
    }
    assert_eq!(rows.headers()["access-control-allow-origin"], "https://app.example.com");
    assert!(!rows.headers().contains_key("access-control-allow-credentials"));
    // The page must be able to read an error, too.
    let refused = ask(get.clone(), "/rest/v1/things", ours, false).await;
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["access-control-allow-origin"]),
        (404, &ours.parse().unwrap())
    );
    for origin in ["https://app.example.com.evil.com", "http://localhost", "null", "http://LOCALHOST:5173"] {
        assert!(shared(&ask(get.clone(), "/rest/v1/ai_chat_sessions", origin, false).await).is_empty(), "{origin}");
    }
    // All other routes are for the web app of the same origin only.
    assert!(shared(&ask(get.clone(), "/api/connections", ours, false).await).is_empty());
    // An OPTIONS request that is not a preflight is answered as usual.
    let methods = ask(options, "/rest/v1/ai_chat_sessions", ours, false).await;
    assert_eq!(methods.headers()["allow"], "OPTIONS,GET,HEAD,POST,PATCH,DELETE");
    app.stop().await;
}

#[tokio::test]
async fn without_configured_origins_no_answer_is_shared() {
    let app = TestApp::start().await;
    let ask = app.http.request(reqwest::Method::OPTIONS, format!("{}/rest/v1/ai_chat_sessions", app.url));
    let ask = ask.header("origin", "https://app.example.com").header("access-control-request-method", "GET");
    assert!(shared(&ask.send().await.unwrap()).is_empty());
    app.stop().await;
}

#[tokio::test]
async fn refuses_foreign_names_on_every_route() {
    let app = TestApp::builder().set("CHAT_ALLOWED_HOSTS", "chat.internal").start().await;
    let status = async |path: &str, host: &str| {
        let request = app.http.get(format!("{}{path}", app.url)).header("host", host);
        request.send().await.unwrap().status().as_u16()
    };
    for path in ["/", "/auth", "/auth/v1/settings", "/api/openapi.json", "/rest/v1/mcp_servers", "/v1/models"] {
        assert_eq!(status(path, "evil.example").await, 403, "{path}");
        assert_eq!(status(path, "evil.example:3000").await, 403, "{path}");
        for host in ["localhost:3000", "127.0.0.1", "[::1]:3000", "chat.internal:8080"] {
            assert_ne!(status(path, host).await, 403, "{path} at {host}");
        }
    }
    let sign_up = app.http.post(format!("{}/auth/v1/signup", app.url)).header("host", "evil.example");
    let body = serde_json::json!({ "email": "a@b.example", "password": "correct horse" });
    assert_eq!(sign_up.json(&body).send().await.unwrap().status(), 403);
    assert_eq!(status("/health/live", "probe.internal").await, 200);
    app.stop().await;
}

#[tokio::test]
async fn is_reached_by_the_name_of_the_site() {
    let app = TestApp::builder().set("CHAT_SITE_URL", "https://chat.example").start().await;
    for (host, expected) in [("chat.example", 200), ("chat.example:3000", 200), ("other.example", 403)] {
        let response = app.http.get(format!("{}/api/openapi.json", app.url)).header("host", host).send().await.unwrap();
        assert_eq!(response.status(), expected, "{host}");
    }
    app.stop().await;
}

#[tokio::test]
async fn every_answer_has_the_security_headers() {
    for (site, is_https) in [("https://chat.example", true), ("http://chat.example", false)] {
        let app = TestApp::builder().set("CHAT_SITE_URL", site).start().await;
        for path in ["/", "/api/openapi.json", "/auth/v1/settings", "/api/nothing"] {
            let response = app.http.get(format!("{}{path}", app.url)).send().await.unwrap();
            let header = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
            assert_eq!(header("cross-origin-opener-policy").as_deref(), Some("same-origin-allow-popups"), "{path}");
            assert_eq!(header("cross-origin-resource-policy").as_deref(), Some("same-origin"), "{path}");
            assert!(header("permissions-policy").unwrap().contains("payment=()"), "{path}");
            let policy = header("content-security-policy").unwrap();
            assert!(policy.contains("; worker-src 'self';"), "the page parses long texts in a worker: {policy}");
            assert_eq!(header("strict-transport-security").is_some(), is_https, "{path}");
        }
        app.stop().await;
    }
}
