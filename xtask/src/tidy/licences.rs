//! Licences that the crates of the binary may have.

use spdx::{Expression, ParseMode};

/// Licences that demand no more than a notice.
const PERMISSIVE_LICENCES: [&str; 15] = [
    "0BSD",
    "Apache-2.0",
    "BSD-1-Clause",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

/// The only exception (`WITH`) that an accepted licence may have.
const ACCEPTED_EXCEPTION: &str = "LLVM-exception";

/// Returns whether permissive licences alone satisfy an SPDX licence expression.
pub fn is_permissive(expression: &str) -> bool {
    let Ok(expression) = Expression::parse_mode(expression, ParseMode::LAX) else { return false };
    expression.evaluate(|licence| {
        licence.license.id().is_some_and(|id| PERMISSIVE_LICENCES.contains(&id.name))
            && licence.addition.as_ref().is_none_or(|exception| exception.to_string() == ACCEPTED_EXCEPTION)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_expressions_that_permissive_licences_satisfy() {
        for expression in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "ISC AND (Apache-2.0 OR ISC)",
            "Apache-2.0 WITH LLVM-exception OR MIT",
            "MPL-2.0 AND GPL-3.0 OR MIT",
        ] {
            assert!(is_permissive(expression), "{expression}");
        }
    }

    #[test]
    fn rejects_other_licences_and_invalid_expressions() {
        for expression in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT AND (GPL-3.0 OR MPL-2.0)",
            "GPL-2.0 WITH LLVM-exception",
            "Apache-2.0 WITH Classpath-exception-2.0",
            "(MIT",
            "MIT)",
            "MIT GPL-3.0",
        ] {
            assert!(!is_permissive(expression), "{expression}");
        }
    }
}
