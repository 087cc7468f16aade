mod encoded;

use super::*;
use crate::providers::ProviderApi;
use crate::providers::WireFormat;

fn file(media_type: &str) -> ModelFile {
    ModelFile { name: None, media_type: media_type.to_owned(), bytes: Arc::from([1_u8].as_slice()) }
}

fn request_with(files: Vec<ModelFile>, of_tool: Vec<ModelFile>) -> Request {
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
fn classifies_refusals_by_content_of_the_request() {
    let picture = || vec![file("image/png")];
    let none = RequestAdjustments::default();
    let pictures = Some(FileRefusal::Unsupported(RequestAdjustments { omit_pictures: true, ..none }));
    let documents = Some(FileRefusal::Unsupported(RequestAdjustments { omit_documents: true, ..none }));
    let plain = Some(FileRefusal::Unsupported(RequestAdjustments { text_only_results: true, ..none }));
    let both = || vec![file("image/png"), file("application/pdf")];
    for (refusal, request, want) in [
        ("No endpoints found that support image input", request_with(picture(), vec![]), pictures),
        ("m is not a multimodal model", request_with(picture(), vec![]), pictures),
        (
            "image input is not supported - hint: you may need to provide the mmproj",
            request_with(picture(), vec![]),
            pictures,
        ),
        ("unknown variant `image_url`, expected `text`", request_with(both(), vec![]), pictures),
        ("messages[0].content must be a string", request_with(picture(), vec![]), pictures),
        ("Unexpected role 'user' after role 'tool'", request_with(vec![], picture()), plain),
        ("Invalid content part type: file is not supported", request_with(both(), vec![]), documents),
        ("Multimodal function response is not supported by this model", request_with(vec![], picture()), plain),
        ("Could not process image", request_with(picture(), vec![]), Some(FileRefusal::InvalidFile)),
        ("image exceeds 5 MB maximum", request_with(picture(), vec![]), Some(FileRefusal::InvalidFile)),
        (
            "You uploaded an unsupported image; use one of these formats",
            request_with(picture(), vec![]),
            Some(FileRefusal::InvalidFile),
        ),
        ("The PDF specified was not valid", request_with(both(), vec![]), Some(FileRefusal::InvalidFile)),
        ("image input is not supported", request_with(vec![], vec![]), None),
        ("temperature is not supported", request_with(picture(), vec![]), None),
        ("no such model", request_with(both(), both()), None),
    ] {
        assert_eq!(classify_file_refusal(refusal, none, &request), want, "{refusal}");
    }
    // What was adjustments is not adjustments again.
    let current = RequestAdjustments { omit_pictures: true, ..none };
    assert_eq!(classify_file_refusal("image input is not supported", current, &request_with(picture(), vec![])), None);
}

#[test]
fn describes_unsupported_files_in_every_api() {
    let request = request_with(vec![file("image/png"), file("image/svg+xml")], vec![file("application/pdf")]);
    let adjustments = RequestAdjustments { omit_pictures: true, omit_documents: true, ..RequestAdjustments::default() };
    for api in [ProviderApi::OpenAiChat, ProviderApi::OpenAiResponses, ProviderApi::Anthropic, ProviderApi::Gemini] {
        let body = String::from_utf8(api.encode(&request, adjustments).unwrap().body).unwrap();
        for words in ["[A picture (image/png, 1 bytes)", "[A file (image/svg+xml, 1", "[A document (application/pdf"] {
            assert!(body.contains(words), "{api:?} {body}");
        }
        assert!(!body.contains("base64") && !body.contains("AQ=="), "{api:?} {body}");
        let shown = String::from_utf8(api.encode(&request, RequestAdjustments::default()).unwrap().body).unwrap();
        assert_eq!(shown.matches("AQ==").count(), 2, "{api:?} {shown}");
    }
    assert_eq!(omitted_files_notice(&request, adjustments), Some(NO_FILES_NOTICE));
    assert_eq!(omitted_files_notice(&request, RequestAdjustments::default()), None);
}

#[test]
fn decodes_each_picture_once() {
    let mut pictures = GeneratedPictures::default();
    let gif = "data:image/png;base64,R0lGODlhAQABAAAAACw";
    let picture = pictures.decode_data_url(gif).unwrap();
    assert_eq!((picture.media_type, picture.content_hash().len()), ("image/gif", 16));
    for nothing in [gif, "data:image/png;base64,?", "data:,GIF89a", "https://example.org/a.png", "PHN2Zz4="] {
        assert!(pictures.decode_data_url(nothing).is_none() && pictures.decode_base64(nothing).is_none(), "{nothing}");
    }
    // Published test vectors of FNV-1a.
    assert_eq!((content_hash(b""), content_hash(b"a")), ("cbf29ce484222325".to_owned(), "af63dc4c8601ec8c".to_owned()));
}
