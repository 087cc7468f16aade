//! The calculator: reads an expression and computes as it reads.

mod functions;
mod tokens;

use domain::tool::ToolResult;
use serde::Deserialize;
use serde_json::{Value, json};

use super::number::{Number, Undefined};
use tokens::{Token, TokenKind};

/// The longest expression, in characters.
pub const MAX_CHARS: usize = 1000;
/// How deep parentheses and signs may be nested.
const MAX_DEPTH: usize = 64;

/// What the tool takes.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calculate {
    /// Models write a plain number as one now and then.
    expression: Value,
}

/// Computes, or says where the expression is not understood.
pub fn calculate(input: &Calculate) -> Result<ToolResult, String> {
    let expression = match &input.expression {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err("The expression must be a text, such as \"2 * (3 + 4)\".".into()),
    };
    let number = evaluate(&expression).map_err(|fault| format!("The expression cannot be computed: {fault}."))?;
    let decimal = number.to_string();
    let structured = json!({ "value": number.to_f64(), "decimal": decimal, "exact": number.is_shown_exactly() });
    Ok(super::result(decimal, structured))
}

/// What is wrong with an expression, and where.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("at position {at}: {what}")]
pub struct Fault {
    /// In characters, from 1.
    at: usize,
    what: String,
}

impl Fault {
    fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into() }
    }

    fn undefined(at: usize, why: Undefined) -> Self {
        Self::new(at, why.to_string())
    }
}

/// The value of an expression.
pub fn evaluate(expression: &str) -> Result<Number, Fault> {
    if expression.chars().count() > MAX_CHARS {
        return Err(Fault::new(MAX_CHARS + 1, format!("it is longer than {MAX_CHARS} characters")));
    }
    // A question is often written with its equals sign.
    let tokens = tokens::read(expression.trim_end_matches(['=', ' ', '?']))?;
    let end = expression.chars().count() + 1;
    let mut reader = Reader { tokens: &tokens, next: 0, end, depth: 0 };
    let value = reader.sum()?;
    match reader.peek() {
        None => Ok(value),
        Some(Token { at, kind: TokenKind::Comma }) => {
            Err(Fault::new(*at, "a comma stands only between the arguments of a function; write 1000, not 1,000"))
        }
        Some(token) => Err(Fault::new(token.at, format!("expected an operator, found {token}"))),
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    next: usize,
    end: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    fn take(&mut self) -> Option<&'a Token> {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// Takes the next token if it is one of these operators.
    fn operator(&mut self, wanted: &[char]) -> Option<(char, usize)> {
        match self.peek() {
            Some(Token { at, kind: TokenKind::Operator(sign) }) if wanted.contains(sign) => {
                self.next += 1;
                Some((*sign, *at))
            }
            _ => None,
        }
    }

    fn sum(&mut self) -> Result<Number, Fault> {
        let mut value = self.product()?;
        while let Some((sign, at)) = self.operator(&['+', '-']) {
            let other = self.product()?;
            let result = if sign == '+' { value.plus(other) } else { value.minus(other) };
            value = result.map_err(|why| Fault::undefined(at, why))?;
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<Number, Fault> {
        let mut value = self.signed()?;
        while let Some((sign, at)) = self.operator(&['*', '/', '%']) {
            if sign == '%' && self.peek().is_none_or(Token::cannot_begin_a_value) {
                return Err(Fault::new(at, "% is the remainder of a division; write 20/100 for 20 percent"));
            }
            let other = self.signed()?;
            let result = match sign {
                '*' => value.times(other),
                '/' => value.over(other),
                _ => value.remainder(other),
            };
            value = result.map_err(|why| Fault::undefined(at, why))?;
        }
        Ok(value)
    }

    /// A sign binds less than a power: -2^2 is -4.
    fn signed(&mut self) -> Result<Number, Fault> {
        self.deeper(|reader| match reader.operator(&['+', '-']) {
            Some(('-', _)) => Ok(reader.signed()?.negated()),
            Some(_) => reader.signed(),
            None => reader.power(),
        })
    }

    fn power(&mut self) -> Result<Number, Fault> {
        let base = self.atom()?;
        match self.operator(&['^']) {
            Some((_, at)) => base.power(self.signed()?).map_err(|why| Fault::undefined(at, why)),
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<Number, Fault> {
        let Some(token) = self.take() else {
            return Err(Fault::new(self.end, "expected a number, found the end"));
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
                functions::apply(name, &arguments).map_err(|what| Fault::new(token.at, what))
            }
            TokenKind::Name(name) => functions::constant(name).map_err(|what| Fault::new(token.at, what)),
            _ => Err(Fault::new(token.at, format!("expected a number, found {token}"))),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Number>, Fault> {
        let opened = self.take().map_or(self.end, |token| token.at);
        let mut arguments = vec![self.sum()?];
        while matches!(self.peek(), Some(Token { kind: TokenKind::Comma, .. })) {
            self.next += 1;
            arguments.push(self.sum()?);
        }
        self.close(opened)?;
        Ok(arguments)
    }

    fn close(&mut self, opened: usize) -> Result<(), Fault> {
        match self.take() {
            Some(Token { kind: TokenKind::Close, .. }) => Ok(()),
            Some(token) => Err(Fault::new(token.at, format!("expected an operator or ), found {token}"))),
            None => Err(Fault::new(self.end, format!("the parenthesis at position {opened} is not closed"))),
        }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Fault>) -> Result<T, Fault> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let at = self.peek().map_or(self.end, |token| token.at);
            return Err(Fault::new(at, format!("it is nested more than {MAX_DEPTH} deep")));
        }
        let result = read(self);
        self.depth -= 1;
        result
    }
}

#[cfg(test)]
mod tests;
