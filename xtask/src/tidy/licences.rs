//! Licence expressions (SPDX), read as far as the question "may we ship this" needs.

/// Licences that ask for no more than a notice.
const PERMISSIVE: [&str; 16] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
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

/// Whether an expression can be met with permissive licences alone.
pub fn is_permissive(expression: &str) -> bool {
    // The old way to write OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut reader = Reader { words: &words };
    let permissive = reader.any();
    permissive && reader.words.is_empty()
}

struct Reader<'a> {
    words: &'a [&'a str],
}

impl Reader<'_> {
    fn take(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        if found {
            self.words = &self.words[1..];
        }
        found
    }

    fn any(&mut self) -> bool {
        let mut permissive = self.all();
        while self.take("OR") {
            permissive |= self.all();
        }
        permissive
    }

    fn all(&mut self) -> bool {
        let mut permissive = self.one();
        while self.take("AND") {
            permissive &= self.one();
        }
        permissive
    }

    fn one(&mut self) -> bool {
        if self.take("(") {
            let inner = self.any();
            return self.take(")") && inner;
        }
        let Some((licence, rest)) = self.words.split_first() else { return false };
        self.words = rest;
        if self.take("WITH") {
            let Some((exception, rest)) = self.words.split_first() else { return false };
            self.words = rest;
            return PERMISSIVE.contains(&format!("{licence} WITH {exception}").as_str());
        }
        PERMISSIVE.contains(licence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_side_of_or_is_enough_and_both_of_and_are_needed() {
        for fine in [
            "MIT",
            "MIT/Apache-2.0",
            "GPL-3.0 OR MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "ISC AND (Apache-2.0 OR ISC)",
            "Apache-2.0 WITH LLVM-exception OR MIT",
            "MPL-2.0 AND GPL-3.0 OR MIT",
        ] {
            assert!(is_permissive(fine), "{fine}");
        }
        for not in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "MIT AND (GPL-3.0 OR MPL-2.0)",
            "GPL-2.0 WITH LLVM-exception",
            "(MIT",
            "MIT)",
            "MIT GPL-3.0",
        ] {
            assert!(!is_permissive(not), "{not}");
        }
    }
}
