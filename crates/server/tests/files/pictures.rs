//! Pictures that models make.

use axum::body::Bytes;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::{Background, TestApp, databases};

use super::scene::{PNG, bytes};

/// A model that draws whatever it is asked, and tells how many pictures it was shown.
async fn painter() -> Background {
    let answer = |body: Bytes| async move {
        let shown = String::from_utf8_lossy(&body).matches("data:image/png;base64,").count();
        let picture = format!("data:image/png;base64,{}", STANDARD.encode(PNG));
        let image = json!({ "type": "image_url", "image_url": { "url": picture } });
        let delta = |delta: Value, finish: Option<&str>| {
            let choice = json!({ "index": 0, "delta": delta, "finish_reason": finish });
            format!("data: {}\n\n", json!({ "id": "1", "object": "chat.completion.chunk", "choices": [choice] }))
        };
        let frames = [
            delta(json!({ "content": format!("I saw {shown}.") }), None),
            delta(json!({ "content": "", "images": [image] }), None),
            delta(json!({}), Some("stop")),
            "data: [DONE]\n\n".to_owned(),
        ];
        ([(header::CONTENT_TYPE, "text/event-stream")], frames.concat()).into_response()
    };
    let models = || async { axum::Json(json!({ "data": [{ "id": "painter" }] })) };
    let routes = axum::Router::new().route("/v1/models", get(models)).route("/v1/chat/completions", post(answer));
    Background::serve(routes).await
}

#[tokio::test]
async fn a_picture_is_told_kept_once_and_shown_to_the_model_again() {
    for database in databases() {
        let model = painter().await;
        let url = format!("{}/v1", model.origin);
        let app = TestApp::builder().database(database).set("OPENAI_BASE_URL", url).start().await;
        let person = app.person().await;
        let chat = person.new_chat().await;
        let told = person.ask_for_events(&chat, "Draw", json!([])).await;
        let file = told.iter().find(|event| event.data["type"] == "file").unwrap().data.clone();
        assert_eq!((&file["mediaType"], &file["size"]), (&json!("image/png"), &json!(PNG.len())));
        let id = file["url"].as_str().unwrap().strip_prefix("/v1/files/").unwrap();
        assert_eq!(bytes(&person, id).await.unwrap(), PNG);
        let stored = person.messages(&chat).await.pop().unwrap();
        assert_eq!(stored["content"], "I saw 0.");
        assert_eq!(stored["parts"], json!([{ "type": "text", "text": "I saw 0." }, file]));
        let (_, again) = person.ask(&chat, "Another", json!([])).await;
        assert_eq!(again["content"], "I saw 1.");
        app.stop().await;
    }
}
