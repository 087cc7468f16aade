//! The calculator: a recursive-descent parser that computes while it parses.
//!
//! The crate `fend-core` (1.5) was tried instead. It overflows the stack of a thread at some 50 nested parentheses in a debug
//! build, which would end the process. It also has no functions of two arguments, no remainder of negative numbers or
//! fractions, and no positions in its errors.

mod functions;
mod tokens;

use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::ToolboxError;
use super::number::{ArithmeticError, Number};
use tokens::{Token, TokenKind};

/// Maximum length of an expression, in characters.
pub const MAX_CHARS: usize = 1000;
/// Maximum nesting of parentheses and signs.
const MAX_DEPTH: usize = 64;

/// Arguments of the tool.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calculate {
    /// A text, or a number: some models write a plain number as one.
    expression: Value,
}

/// Computes the expression of the arguments.
///
/// # Errors
///
/// A sentence with the position of the first error.
pub fn calculate(input: &Calculate) -> Result<ToolResult, ToolboxError> {
    let expression = match &input.expression {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => {
            let message = "The expression must be a text, such as \"2 * (3 + 4)\".";
            return Err(ToolboxError::Argument(message.to_owned()));
        }
    };
    let number = evaluate(&expression)?;
    let decimal = number.to_string();
    let structured = json!({ "value": number.to_f64(), "decimal": decimal, "exact": number.is_shown_exactly() });
    Ok(super::result(decimal, structured))
}

/// An error in an expression, with its position.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("at position {position}: {message}")]
pub struct ExpressionError {
    /// Position in characters, from 1.
    position: usize,
    message: String,
}

impl ExpressionError {
    fn new(position: usize, message: impl Into<String>) -> Self {
        Self { position, message: message.into() }
    }

    fn undefined(position: usize, error: ArithmeticError) -> Self {
        Self::new(position, error.to_string())
    }
}

/// Computes an expression.
pub fn evaluate(expression: &str) -> Result<Number, ExpressionError> {
    if expression.chars().count() > MAX_CHARS {
        return Err(ExpressionError::new(MAX_CHARS + 1, format!("it is longer than {MAX_CHARS} characters")));
    }
    // Questions often end with an equals sign.
    let tokens = tokens::tokenize(expression.trim_end_matches(['=', ' ', '?']))?;
    let end = expression.chars().count() + 1;
    let mut parser = Parser { tokens: &tokens, next: 0, end, depth: 0 };
    let value = parser.sum()?;
    match parser.peek() {
        None => Ok(value),
        Some(Token { at, kind: TokenKind::Comma }) => Err(ExpressionError::new(
            *at,
            "a comma stands only between the arguments of a function; write 1000, not 1,000",
        )),
        Some(token) => Err(ExpressionError::new(token.at, format!("expected an operator, found {token}"))),
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    end: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Returns the next token without consuming it.
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    /// Consumes the next token.
    fn take(&mut self) -> Option<&'a Token> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Consumes the next token if it is one of these operators.
    fn take_operator(&mut self, wanted: &[char]) -> Option<(char, usize)> {
        match self.peek() {
            Some(Token { at, kind: TokenKind::Operator(sign) }) if wanted.contains(sign) => {
                self.next += 1;
                Some((*sign, *at))
            }
            _ => None,
        }
    }

    /// Parses a sum, the outermost level of an expression.
    fn sum(&mut self) -> Result<Number, ExpressionError> {
        let mut value = self.product()?;
        while let Some((sign, at)) = self.take_operator(&['+', '-']) {
            let other = self.product()?;
            let result = if sign == '+' { value.plus(other) } else { value.minus(other) };
            value = result.map_err(|error| ExpressionError::undefined(at, error))?;
        }
        Ok(value)
    }

    /// Parses a product, quotient or remainder.
    fn product(&mut self) -> Result<Number, ExpressionError> {
        let mut value = self.signed()?;
        while let Some((sign, at)) = self.take_operator(&['*', '/', '%']) {
            // `20%` means a percentage to people. Computing something else would be worse than an error.
            if sign == '%' && self.peek().is_none_or(Token::cannot_begin_operand) {
                return Err(ExpressionError::new(at, "% is the remainder of a division; write 20/100 for 20 percent"));
            }
            let other = self.signed()?;
            let result = match sign {
                '*' => value.times(other),
                '/' => value.over(other),
                _ => value.remainder(other),
            };
            value = result.map_err(|error| ExpressionError::undefined(at, error))?;
        }
        Ok(value)
    }

    /// Parses an operand with its signs. A sign binds less than a power: -2^2 is -4.
    fn signed(&mut self) -> Result<Number, ExpressionError> {
        self.nested(|parser| match parser.take_operator(&['+', '-']) {
            Some(('-', _)) => Ok(parser.signed()?.negated()),
            Some(_) => parser.signed(),
            None => parser.power(),
        })
    }

    /// Parses a power; it associates to the right.
    fn power(&mut self) -> Result<Number, ExpressionError> {
        let base = self.operand()?;
        match self.take_operator(&['^']) {
            // The exponent may have a sign, as in 2^-3, and its own power, which makes the operator right-associative.
            Some((_, at)) => base.power(self.signed()?).map_err(|error| ExpressionError::undefined(at, error)),
            None => Ok(base),
        }
    }

    /// Parses a number, a parenthesized expression, a constant or a function call.
    fn operand(&mut self) -> Result<Number, ExpressionError> {
        let Some(token) = self.take() else {
            return Err(ExpressionError::new(self.end, "expected a number, found the end"));
        };
        match &token.kind {
            TokenKind::Number(number) => Ok(*number),
            TokenKind::Open => {
                let value = self.sum()?;
                self.close(token.at)?;
                Ok(value)
            }
            TokenKind::Name(name) if matches!(self.peek(), Some(Token { kind: TokenKind::Open, .. })) => {
                let arguments = self.arguments()?;
                functions::apply(name, &arguments).map_err(|error| ExpressionError::new(token.at, error.to_string()))
            }
            TokenKind::Name(name) => {
                functions::constant(name).map_err(|error| ExpressionError::new(token.at, error.to_string()))
            }
            _ => Err(ExpressionError::new(token.at, format!("expected a number, found {token}"))),
        }
    }

    /// Parses the arguments of a function, with their parentheses.
    fn arguments(&mut self) -> Result<Vec<Number>, ExpressionError> {
        let opened = self.take().map_or(self.end, |token| token.at);
        let mut arguments = vec![self.sum()?];
        while matches!(self.peek(), Some(Token { kind: TokenKind::Comma, .. })) {
            self.next += 1;
            arguments.push(self.sum()?);
        }
        self.close(opened)?;
        Ok(arguments)
    }

    /// Consumes a closing parenthesis. `opened` is the position of the opening one.
    fn close(&mut self, opened: usize) -> Result<(), ExpressionError> {
        match self.take() {
            Some(Token { kind: TokenKind::Close, .. }) => Ok(()),
            Some(token) => Err(ExpressionError::new(token.at, format!("expected an operator or ), found {token}"))),
            None => Err(ExpressionError::new(self.end, format!("the parenthesis at position {opened} is not closed"))),
        }
    }

    /// Runs a parser one level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, ExpressionError>) -> Result<T, ExpressionError> {
        self.depth += 1;
        // The parser is recursive, and a stack overflow would end the process.
        if self.depth > MAX_DEPTH {
            let at = self.peek().map_or(self.end, |token| token.at);
            return Err(ExpressionError::new(at, format!("it is nested more than {MAX_DEPTH} deep")));
        }
        let result = parse(self);
        self.depth -= 1;
        result
    }
}

#[cfg(test)]
mod tests;
