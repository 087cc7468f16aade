//! A cursor over a query parameter, which reports the position of a syntax error.

use crate::PgError;

/// A position in a parameter.
#[derive(Debug, Clone)]
pub(crate) struct ParameterCursor<'a> {
    what: &'static str,
    text: &'a str,
    at: usize,
    /// Number of characters before the text that PostgREST counts in error positions.
    before: usize,
}

impl<'a> ParameterCursor<'a> {
    /// Starts at the beginning of `text`. `what` names the kind of parameter in errors.
    pub(crate) fn new(what: &'static str, text: &'a str) -> Self {
        Self { what, text, at: 0, before: 0 }
    }

    /// Like [`new`](Self::new), with `before` characters that error positions include.
    pub(crate) fn after(before: usize, what: &'static str, text: &'a str) -> Self {
        Self { before, ..Self::new(what, text) }
    }

    /// Returns the unread text.
    pub(crate) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn at_end(&self) -> bool {
        self.rest().is_empty()
    }

    pub(crate) fn looks_at(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// Reads `text` if it is next, and returns whether it was.
    pub(crate) fn eat(&mut self, text: &str) -> bool {
        let found = self.looks_at(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Reads `text`, or fails if it is not next.
    pub(crate) fn expect(&mut self, text: &'static str) -> Result<(), PgError> {
        if self.eat(text) { Ok(()) } else { Err(self.syntax_error(&format!("expecting \"{text}\""))) }
    }

    /// Fails unless everything was read.
    pub(crate) fn expect_end(&self) -> Result<(), PgError> {
        if self.at_end() { Ok(()) } else { Err(self.syntax_error("expecting end of input")) }
    }

    /// Skips spaces and tabs.
    pub(crate) fn spaces(&mut self) {
        self.take_while(|c| matches!(c, ' ' | '\t'));
    }

    /// Reads `mark` and the spaces around it if it is next.
    pub(crate) fn eat_spaced(&mut self, mark: &str) -> bool {
        // On a copy: spaces that are not followed by the mark belong to the value.
        let mut ahead = self.clone();
        ahead.spaces();
        let found = ahead.eat(mark);
        if found {
            ahead.spaces();
            *self = ahead;
        }
        found
    }

    /// Reads `mark` and the spaces around it, or fails.
    pub(crate) fn expect_spaced(&mut self, mark: &'static str) -> Result<(), PgError> {
        if self.eat_spaced(mark) { Ok(()) } else { Err(self.syntax_error(&format!("expecting \"{mark}\""))) }
    }

    pub(crate) fn take_while(&mut self, mut wanted: impl FnMut(char) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Reads a name: letters, digits, `_`, `$`, inner spaces and `-`, or any text in double quotes.
    pub(crate) fn name(&mut self) -> Result<String, PgError> {
        if self.looks_at("\"") {
            return self.quoted();
        }
        let rest = self.rest();
        let end = rest
            .char_indices()
            .find(|(at, c)| match c {
                // A hyphen belongs to a name unless it begins an arrow, which is a path into JSON.
                '-' => rest[*at..].starts_with("->"),
                c => !(c.is_alphanumeric() || matches!(c, '_' | '$' | ' ')),
            })
            .map_or(rest.len(), |(at, _)| at);
        let name = rest[..end].trim();
        if name.is_empty() {
            return Err(self.syntax_error("expecting field name (* or [a..z0..9_$])"));
        }
        self.at += end;
        Ok(name.to_owned())
    }

    /// Reads a text in double quotes; a backslash escapes the next character.
    pub(crate) fn quoted(&mut self) -> Result<String, PgError> {
        self.expect("\"")?;
        let mut text = String::new();
        let mut characters = self.rest().char_indices();
        while let Some((at, c)) = characters.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(text);
                }
                '\\' => match characters.next() {
                    Some((_, escaped)) => text.push(escaped),
                    None => break,
                },
                c => text.push(c),
            }
        }
        // The error points to the end of the text, where the quote is missing.
        self.at = self.text.len();
        Err(self.syntax_error("expecting \"\\\"\""))
    }

    /// Builds PostgREST's message for a syntax error at the current position.
    pub(crate) fn syntax_error(&self, details: &str) -> PgError {
        // PostgREST counts columns in characters, from one.
        let column = self.before + self.text[..self.at].chars().count() + 1;
        let message = format!("\"failed to parse {} ({})\" (line 1, column {column})", self.what, self.text);
        let found = match self.rest().chars().next() {
            _ if !details.starts_with("expecting") => String::new(),
            Some(c) => format!("unexpected \"{c}\" "),
            None => "unexpected end of input ".to_owned(),
        };
        PgError::new("PGRST100", message).with_details(format!("{found}{details}"))
    }
}
