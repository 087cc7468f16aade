//! QR codes as SVG.

use std::fmt::Write as _;

use fast_qr::{ECL, QRBuilder};

/// The empty frame that readers need, in modules (ISO/IEC 18004 section 6.3.8).
const QUIET_ZONE: usize = 4;
/// Default size of a module, in pixels.
const MODULE_PIXELS: usize = 4;

/// The text as a picture, black on white in every colour scheme, or nothing when it is too long for one. Without `#`:
/// clients put the text of the picture into a `data:` URL as it is.
pub fn svg(text: &str) -> Option<String> {
    let code = QRBuilder::new(text).ecl(ECL::M).build().ok()?;
    let modules = code.size;
    let side = modules + 2 * QUIET_ZONE;
    let mut path = String::new();
    for row in 0..modules {
        for (column, module) in code[row].iter().enumerate().take(modules) {
            if module.value() {
                // Writing to a string cannot fail.
                let _ = write!(path, "M{} {}h1v1h-1z", column + QUIET_ZONE, row + QUIET_ZONE);
            }
        }
    }
    Some(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{pixels}\" height=\"{pixels}\" viewBox=\"0 0 {side} {side}\" \
         shape-rendering=\"crispEdges\"><rect width=\"{side}\" height=\"{side}\" fill=\"white\"/>\
         <path d=\"{path}\" fill=\"black\"/></svg>",
        pixels = side * MODULE_PIXELS,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_is_square_framed_and_fit_for_an_address() {
        let svg = svg("otpauth://totp/a:b?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ").unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>") && !svg.contains('#'));
        // The finder pattern begins in the corner inside the frame.
        assert!(svg.contains("d=\"M4 4h1v1h-1zM5 4h1v1h-1z"), "{svg}");
    }

    #[test]
    fn what_is_too_long_has_no_picture() {
        assert!(svg(&"a".repeat(3_000)).is_none());
    }
}
