//! Tool results that are too large for a message, and images in them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use testkit::{CallAnswer, ScriptedMcp, Step, databases};

use super::fixture::{Fixture, PNG, bytes};

/// Returns an image that is larger than what a message stores.
fn large_picture() -> Vec<u8> {
    [PNG, vec![7; 200_000].as_slice()].concat()
}

/// Makes the model call a tool with this result, and returns the stored call.
async fn call(fixture: &Fixture, result: Value) -> Value {
    let server = ScriptedMcp::start([json!({ "name": "look", "description": "Looks." })]).await;
    server.answer([CallAnswer::Result(result)]);
    let connection = fixture.person.connect_to("eyes", &server.url).await;
    fixture.person.allow(&connection, "look", "always").await;
    fixture.model.push(Step::Calls(vec![("look".into(), json!({}))]));
    fixture.model.push(Step::Text("Seen.".into()));
    let tools = json!([{ "name": "look", "serverName": "eyes" }]);
    let told = fixture.person.ask_for_events(&fixture.chat, "Look", tools).await;
    let output = told.iter().find(|event| event.data["type"] == "tool-output-available").unwrap();
    let stored = fixture.person.messages(&fixture.chat).await.pop().unwrap();
    assert_eq!(stored["tool_calls"][0]["result"], output.data["output"], "{stored}");
    assert_eq!(stored["content"], "Seen.");
    stored["parts"].as_array().unwrap().iter().find(|part| part["type"] == "tool-call").unwrap()["call"].clone()
}

fn id_of(file: &Value) -> &str {
    file["url"].as_str().unwrap().strip_prefix("/v1/files/").unwrap()
}

#[tokio::test]
async fn bytes_of_a_result_are_kept_once_and_shown_to_the_model() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let picture = large_picture();
        let (data, sound) = (STANDARD.encode(&picture), STANDARD.encode(vec![9; 50_000]));
        let result = json!({ "content": [
            { "type": "image", "mimeType": "image/webp", "data": data, "file": { "url": "/v1/files/x" } },
            { "type": "text", "text": "small" },
            { "type": "resource", "resource": { "uri": "eyes://a/song.wav", "mimeType": "audio/wav", "blob": sound } },
            { "type": "audio", "mimeType": "audio/ogg", "data": STANDARD.encode(vec![8; 40_000]) },
        ] });
        let call = call(&fixture, result).await;
        let content = &call["result"]["content"];
        assert!(call.to_string().len() < 2_000, "{call}");
        assert_eq!(content[0]["file"]["mediaType"], "image/png", "it is what its bytes say");
        assert_eq!(bytes(&fixture.person, id_of(&content[0]["file"])).await.unwrap(), picture);
        assert_eq!(
            (&content[2]["file"]["filename"], &content[2]["resource"]["blob"]),
            (&json!("song.wav"), &Value::Null)
        );
        assert_eq!(bytes(&fixture.person, id_of(&content[2]["file"])).await.unwrap(), vec![9; 50_000]);
        assert_eq!((&content[3]["file"]["mediaType"], &content[3]["data"]), (&json!("audio/ogg"), &Value::Null));
        let sound = id_of(&content[3]["file"]);
        assert_eq!(bytes(&fixture.person, sound).await.unwrap(), vec![8; 40_000]);
        let sum = fixture.person.get("/api/usage").await["files"]["bytes"].as_u64().unwrap();
        assert_eq!(sum, picture.len() as u64 + 90_000);
        let stranger = fixture.app.person().await;
        assert_eq!(bytes(&stranger, id_of(&content[0]["file"])).await, Err(404));

        // A share serves them with the results, if it includes tools.
        let shares = format!("/api/sessions/{}/shares", fixture.chat);
        for (chosen, status) in [(json!({ "tools": true }), 200), (json!({ "files": true }), 404)] {
            let (_, share) = fixture.person.post(&shares, &chosen).await;
            let token = share["url"].as_str().unwrap().split_once("share=").unwrap().1;
            let shown = fixture.person.get(&format!("/api/shared/{token}")).await.to_string();
            assert_eq!(shown.contains(sound), status == 200, "{shown}");
            let url = format!("{}/api/shared/{token}/files/{sound}", fixture.app.url);
            assert_eq!(fixture.app.http.get(url).send().await.unwrap().status(), status);
        }

        // The model gets the image in the same form, now and later.
        let now = fixture.model.requests().pop().unwrap()["messages"].to_string();
        assert_eq!(now.matches(&data).count(), 1);
        fixture.send("And now?", &[]).await;
        let later = fixture.model.requests().pop().unwrap()["messages"].to_string();
        assert_eq!(later.matches(&data).count(), 1);
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn a_long_result_has_its_beginning_in_the_message_and_is_whole_beside() {
    for database in databases() {
        let fixture = Fixture::new(database).await;
        let long = (0..500_000).map(|number: u32| number.to_string()).collect::<Vec<_>>().join(" ");
        let result = json!({ "content": [{ "type": "text", "text": long }], "structuredContent": { "n": 1 } });
        let call = call(&fixture, result).await;
        let kept = &call["result"];
        let head = kept["content"][0]["text"].as_str().unwrap();
        assert!(long.starts_with(head) && head.len() == 64 * 1024);
        assert_eq!(kept["whole"]["mediaType"], "application/json");
        let whole: Value =
            serde_json::from_slice(&bytes(&fixture.person, id_of(&kept["whole"])).await.unwrap()).unwrap();
        assert_eq!((&whole["content"][0]["text"], &whole["structuredContent"]), (&json!(long), &json!({ "n": 1 })));

        let read = fixture.read();
        let result = read.iter().find(|message| message["role"] == "tool").unwrap()["content"].to_string();
        assert!(result.len() < 33_000 && result.contains("[cut: 32000 of about"), "{}", result.len());
        fixture.send("And now?", &[]).await;
        let again = fixture.read();
        let again = again.iter().find(|message| message["role"] == "tool").unwrap()["content"].to_string();
        assert_eq!(again, result, "what was read stays the same");
        fixture.app.stop().await;
    }
}

#[tokio::test]
async fn what_there_is_no_room_for_is_said() {
    for database in databases() {
        let fixture = Fixture::with(database, &[("CHAT_MAX_FILES_MIB_PER_USER", "1")]).await;
        fixture.upload("a.txt", &vec![b'x'; 900_000]).await;
        let picture = json!({ "type": "image", "mimeType": "image/png", "data": STANDARD.encode(large_picture()) });
        let call = call(&fixture, json!({ "content": [picture] })).await;
        assert_eq!(call["result"]["content"][0]["text"], "[image/png, 200069 bytes: not kept]");
        let stored = fixture.person.messages(&fixture.chat).await.pop().unwrap();
        assert!(stored["parts"].to_string().contains("There was no room to keep all"), "{stored}");
        fixture.app.stop().await;
    }
}
