//! QR codes as SVG.

use std::fmt::Write as _;

use fast_qr::{ECL, QRBuilder};

/// Width of the empty margin that readers need, in modules (ISO/IEC 18004 section 6.3.8).
const QUIET_ZONE: usize = 4;
/// Default size of a module, in pixels.
const MODULE_PIXELS: usize = 4;

/// Returns a text as a QR code, black on white in any color scheme, or `None` if it is too long. The SVG contains no
/// `#`, because clients put it into a `data:` URL without escaping.
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
    fn svg_has_a_margin_and_fits_into_a_data_url() {
        let svg = svg("otpauth://totp/a:b?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ").unwrap();
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>") && !svg.contains('#'));
        // The finder pattern starts in the corner inside the margin.
        assert!(svg.contains("d=\"M4 4h1v1h-1zM5 4h1v1h-1z"), "{svg}");
    }

    #[test]
    fn returns_none_for_long_texts() {
        assert!(svg(&"a".repeat(3_000)).is_none());
    }
}
