//! Tokens of an expression.

use std::fmt;

use super::super::number::Number;
use super::ExpressionError;

/// A token of an expression.
#[derive(Debug, PartialEq)]
pub struct Token {
    /// Position of its first character, from 1.
    pub at: usize,
    pub kind: TokenKind,
}

#[derive(Debug, PartialEq)]
pub enum TokenKind {
    Number(Number),
    /// A name, in lower case.
    Name(String),
    /// One of `+ - * / % ^`.
    Operator(char),
    Open,
    Close,
    Comma,
}

impl Token {
    /// Returns whether an operator before this token lacks its right operand.
    pub fn cannot_begin_operand(&self) -> bool {
        matches!(self.kind, TokenKind::Close | TokenKind::Comma | TokenKind::Operator('*' | '/' | '%' | '^'))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TokenKind::Number(number) => number.fmt(f),
            TokenKind::Name(name) => f.write_str(name),
            TokenKind::Operator(sign) => write!(f, "{sign}"),
            TokenKind::Open => f.write_str("("),
            TokenKind::Close => f.write_str(")"),
            TokenKind::Comma => f.write_str("a comma"),
        }
    }
}

/// Splits an expression into tokens.
pub fn tokenize(expression: &str) -> Result<Vec<Token>, ExpressionError> {
    let chars: Vec<char> = expression.chars().collect();
    let mut tokens = Vec::new();
    let mut next = 0;
    while let Some(&char) = chars.get(next) {
        let begin = next;
        next += 1;
        let kind = match char {
            char if char.is_whitespace() => continue,
            '(' | '[' => TokenKind::Open,
            ')' | ']' => TokenKind::Close,
            // Spreadsheets separate arguments by semicolons where the comma is a decimal mark.
            ',' | ';' => TokenKind::Comma,
            // Python's operator for powers.
            '*' if chars.get(next) == Some(&'*') => {
                next += 1;
                TokenKind::Operator('^')
            }
            '+' | '-' | '*' | '/' | '%' | '^' => TokenKind::Operator(char),
            // Models and word processors write typographic signs.
            '×' | '·' | '⋅' => TokenKind::Operator('*'),
            '÷' | ':' => TokenKind::Operator('/'),
            '−' | '–' => TokenKind::Operator('-'),
            'π' => TokenKind::Name("pi".into()),
            '0'..='9' | '.' => {
                next = end_of_number(&chars, begin);
                let text: String = chars[begin..next].iter().collect();
                let number = Number::from_decimal(&text).ok_or_else(|| {
                    ExpressionError::new(begin + 1, format!("{text} is not a number that can be computed with"))
                })?;
                TokenKind::Number(number)
            }
            char if char.is_ascii_alphabetic() => {
                while chars.get(next).is_some_and(char::is_ascii_alphanumeric) {
                    next += 1;
                }
                TokenKind::Name(chars[begin..next].iter().collect::<String>().to_ascii_lowercase())
            }
            other => return Err(ExpressionError::new(begin + 1, format!("{other:?} is not part of an expression"))),
        };
        tokens.push(Token { at: begin + 1, kind });
    }
    Ok(tokens)
}

/// Returns the index behind a number that begins at `begin`.
fn end_of_number(chars: &[char], begin: usize) -> usize {
    let is_digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let mut end = begin;
    while is_digit(end) || chars.get(end) == Some(&'.') {
        end += 1;
    }
    // An e begins an exponent only if digits follow; otherwise it is the constant.
    if matches!(chars.get(end), Some('e' | 'E')) {
        let digits = end + 1 + usize::from(matches!(chars.get(end + 1), Some('+' | '-')));
        if is_digit(digits) {
            end = digits;
            while is_digit(end) {
                end += 1;
            }
        }
    }
    end
}
