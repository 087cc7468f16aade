//! HTML version of emails: one column, light and dark colors, and no external resources.

use super::templates::{Email, PRODUCT_NAME};

/// Style sheet with the dark colors. Many mail clients ignore style sheets, so sizes and light colors are inline.
const STYLE_SHEET: &str = ":root{color-scheme:light dark}\
    @media(prefers-color-scheme:dark){.page{background:#0a0a0a!important}.card{background:#171717!important;\
    border-color:#303030!important}.text{color:#fafafa!important}.quiet{color:#a1a1a1!important}\
    .button{background:#fafafa!important;color:#171717!important}.code{background:#262626!important;\
    color:#fafafa!important}}";

const FONT_STYLE: &str = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif";

/// Returns the email as a complete HTML document.
pub fn render(email: &Email) -> String {
    let mut body = vec![
        format!("<p class=\"quiet\" style=\"margin:0 0 24px;font-size:14px;color:#737373\">{PRODUCT_NAME}</p>"),
        format!(
            "<h1 class=\"text\" style=\"margin:0 0 12px;font-size:22px;line-height:1.3;color:#171717\">{}</h1>",
            escape(email.title())
        ),
        paragraph(&email.reason()),
    ];
    if let Some(link) = &email.link {
        body.push(format!(
            "<p style=\"margin:24px 0\"><a class=\"button\" href=\"{}\" style=\"display:inline-block;padding:12px 20px;\
             border-radius:8px;background:#171717;color:#fafafa;font-weight:600;text-decoration:none\">{}</a></p>",
            escape(link),
            escape(email.button())
        ));
    }
    if let Some(code) = &email.code {
        body.push(paragraph(email.code_caption()));
        body.push(format!(
            "<p class=\"code\" style=\"margin:0 0 24px;padding:12px 20px;border-radius:8px;background:#f5f5f5;\
             color:#171717;font:600 24px ui-monospace,Menlo,Consolas,monospace;letter-spacing:6px;\
             text-align:center\">{}</p>",
            escape(code)
        ));
    }
    body.extend(email.validity().map(small_print));
    body.push(small_print(email.ignore()));
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\">\
         <title>{title}</title><style>{STYLE_SHEET}</style></head>\
         <body class=\"page\" style=\"margin:0;padding:32px 16px;background:#fafafa;{FONT_STYLE}\">\
         <div class=\"card\" role=\"article\" style=\"max-width:480px;margin:0 auto;padding:32px;background:#ffffff;\
         border:1px solid #e5e5e5;border-radius:12px\">{body}</div></body></html>",
        title = escape(email.title()),
        body = body.concat(),
    )
}

fn paragraph(text: &str) -> String {
    let text = escape(text);
    format!("<p class=\"text\" style=\"margin:0 0 12px;font-size:16px;line-height:1.5;color:#171717\">{text}</p>")
}

fn small_print(text: &str) -> String {
    let text = escape(text);
    format!("<p class=\"quiet\" style=\"margin:0 0 8px;font-size:14px;line-height:1.5;color:#737373\">{text}</p>")
}

/// Escapes text for the content of an element or a quoted attribute.
fn escape(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, character| {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Not `&apos;`, which HTML 4 does not define and old mail clients show as text.
            '\'' => out.push_str("&#39;"),
            other => out.push(other),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::super::EmailKind;
    use super::*;

    #[test]
    fn escapes_all_inserted_texts() {
        let email = Email {
            kind: EmailKind::EmailChangeCurrent { new: "<img src=x onerror='a'>&\"@b.c".to_owned() },
            link: Some("https://a.b/?x=1&y=\"><script>".to_owned()),
            code: Some("123456".to_owned()),
        };
        let page = render(&email);
        assert!(!page.contains("<img") && !page.contains("<script"));
        assert!(page.contains("href=\"https://a.b/?x=1&amp;y=&quot;&gt;&lt;script&gt;\""), "{page}");
        assert!(page.contains("&lt;img src=x onerror=&#39;a&#39;&gt;&amp;&quot;@b.c"), "{page}");
    }

    #[test]
    fn omits_elements_of_a_missing_link_or_code() {
        let email = |link, code| Email { kind: EmailKind::Recovery, link, code };
        let code = render(&email(None, Some("123456".to_owned())));
        assert!(code.contains("123456") && !code.contains("<a "), "{code}");
        let link = render(&email(Some("https://a.b/".to_owned()), None));
        assert!(link.contains("<a ") && !link.contains("one hour") && !link.contains("class=\"code\""), "{link}");
    }
}
