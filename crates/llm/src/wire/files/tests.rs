mod written;

use super::*;
use crate::wire::Wire;

fn file(media_type: &str) -> ModelFile {
    ModelFile { name: None, media_type: media_type.to_owned(), bytes: Arc::from([1_u8].as_slice()) }
}

fn asked(files: Vec<ModelFile>, of_tool: Vec<ModelFile>) -> Request {
    let result = ModelMessage::ToolResult {
        call_id: "a".to_owned(),
        name: "camera".to_owned(),
        text: "done".to_owned(),
        is_error: false,
        files: of_tool,
    };
    let text = "What is it?".to_owned();
    Request { messages: vec![ModelMessage::User { text, files }, result], ..Request::default() }
}

#[test]
fn a_refusal_is_read_for_what_the_request_holds() {
    let picture = || vec![file("image/png")];
    let none = Concessions::default();
    let pictures = Some(Refused::Always(Concessions { without_pictures: true, ..none }));
    let documents = Some(Refused::Always(Concessions { without_documents: true, ..none }));
    let plain = Some(Refused::Always(Concessions { plain_results: true, ..none }));
    let both = || vec![file("image/png"), file("application/pdf")];
    for (refusal, request, want) in [
        ("No endpoints found that support image input", asked(picture(), vec![]), pictures),
        ("m is not a multimodal model", asked(picture(), vec![]), pictures),
        ("image input is not supported - hint: you may need to provide the mmproj", asked(picture(), vec![]), pictures),
        ("unknown variant `image_url`, expected `text`", asked(both(), vec![]), pictures),
        ("messages[0].content must be a string", asked(picture(), vec![]), pictures),
        ("Unexpected role 'user' after role 'tool'", asked(vec![], picture()), plain),
        ("Invalid content part type: file is not supported", asked(both(), vec![]), documents),
        ("Multimodal function response is not supported by this model", asked(vec![], picture()), plain),
        ("Could not process image", asked(picture(), vec![]), Some(Refused::These)),
        ("image exceeds 5 MB maximum", asked(picture(), vec![]), Some(Refused::These)),
        ("You uploaded an unsupported image; use one of these formats", asked(picture(), vec![]), Some(Refused::These)),
        ("The PDF specified was not valid", asked(both(), vec![]), Some(Refused::These)),
        ("image input is not supported", asked(vec![], vec![]), None),
        ("temperature is not supported", asked(picture(), vec![]), None),
        ("no such model", asked(both(), both()), None),
    ] {
        assert_eq!(refused(refusal, none, &request), want, "{refusal}");
    }
    // What was conceded is not conceded again.
    let made = Concessions { without_pictures: true, ..none };
    assert_eq!(refused("image input is not supported", made, &asked(picture(), vec![])), None);
}

#[test]
fn what_a_model_does_not_take_is_told_it_in_words_on_every_wire() {
    let request = asked(vec![file("image/png"), file("image/svg+xml")], vec![file("application/pdf")]);
    let concessions = Concessions { without_pictures: true, without_documents: true, ..Concessions::default() };
    for wire in [Wire::OpenAiChat, Wire::OpenAiResponses, Wire::Anthropic, Wire::Gemini] {
        let body = String::from_utf8(wire.encode(&request, concessions).unwrap().body).unwrap();
        for words in ["[A picture (image/png, 1 bytes)", "[A file (image/svg+xml, 1", "[A document (application/pdf"] {
            assert!(body.contains(words), "{wire:?} {body}");
        }
        assert!(!body.contains("base64") && !body.contains("AQ=="), "{wire:?} {body}");
        let shown = String::from_utf8(wire.encode(&request, Concessions::default()).unwrap().body).unwrap();
        assert_eq!(shown.matches("AQ==").count(), 2, "{wire:?} {shown}");
    }
    assert_eq!(left_out(&request, concessions), Some(NEITHER));
    assert_eq!(left_out(&request, Concessions::default()), None);
}

#[test]
fn a_picture_is_told_once_and_anything_else_never() {
    let mut pictures = Pictures::default();
    let gif = "data:image/png;base64,R0lGODlhAQABAAAAACw";
    let told = pictures.read_url(gif).unwrap();
    assert_eq!((told.media_type, told.mark().len()), ("image/gif", 16));
    for nothing in [gif, "data:image/png;base64,?", "data:,GIF89a", "https://example.org/a.png", "PHN2Zz4="] {
        assert!(pictures.read_url(nothing).is_none() && pictures.read(nothing).is_none(), "{nothing}");
    }
    // Published figures of the sum.
    assert_eq!((mark(b""), mark(b"a")), ("cbf29ce484222325".to_owned(), "af63dc4c8601ec8c".to_owned()));
}
