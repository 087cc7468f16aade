//! A strict JSON reader for package files and messages. Keys keep their order and their repetitions,
//! because a key given twice is one of the mistakes it has to show.

use crate::failure::{Failure, Outcome};

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    /// The number as it is written: nothing here calculates with one.
    Number(String),
    String(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// Reads a whole text; the failure names the line.
    pub fn read(text: &str) -> Outcome<Self> {
        let mut reader = Reader { rest: text, text };
        let value = reader.value()?;
        reader.space();
        if reader.rest.is_empty() { Ok(value) } else { Err(reader.wrong("nothing more")) }
    }

    /// The value of a key of an object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entries().iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// The entries of an object; none for other values.
    pub fn entries(&self) -> &[(String, Self)] {
        if let Self::Object(entries) = self { entries } else { &[] }
    }
}

struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, expected: &str) -> Failure {
        let read = self.text.len() - self.rest.len();
        let line = self.text[..read].matches('\n').count() + 1;
        Failure::new(format!("line {line}: expected {expected}"))
    }

    fn space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
    }

    fn take(&mut self, token: &str) -> bool {
        self.space();
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest;
        true
    }

    fn value(&mut self) -> Outcome<Value> {
        if self.take("{") {
            self.object()
        } else if self.take("[") {
            self.list()
        } else if self.take("\"") {
            self.string().map(Value::String)
        } else if self.take("true") {
            Ok(Value::Bool(true))
        } else if self.take("false") {
            Ok(Value::Bool(false))
        } else if self.take("null") {
            Ok(Value::Null)
        } else {
            self.number()
        }
    }

    fn object(&mut self) -> Outcome<Value> {
        let mut entries = Vec::new();
        if self.take("}") {
            return Ok(Value::Object(entries));
        }
        loop {
            if !self.take("\"") {
                return Err(self.wrong("a key in double quotes"));
            }
            let key = self.string()?;
            if !self.take(":") {
                return Err(self.wrong("`:`"));
            }
            entries.push((key, self.value()?));
            if self.take("}") {
                return Ok(Value::Object(entries));
            }
            if !self.take(",") {
                return Err(self.wrong("`,` or `}`"));
            }
        }
    }

    fn list(&mut self) -> Outcome<Value> {
        let mut values = Vec::new();
        if self.take("]") {
            return Ok(Value::List(values));
        }
        loop {
            values.push(self.value()?);
            if self.take("]") {
                return Ok(Value::List(values));
            }
            if !self.take(",") {
                return Err(self.wrong("`,` or `]`"));
            }
        }
    }

    /// The rest of a string, after its opening quote.
    fn string(&mut self) -> Outcome<String> {
        let mut text = String::new();
        loop {
            let mut characters = self.rest.chars();
            let next = characters.next();
            self.rest = characters.as_str();
            match next {
                Some('"') => return Ok(text),
                Some('\\') => text.push(self.escape()?),
                Some(character) if character >= ' ' => text.push(character),
                _ => return Err(self.wrong("the end of a string")),
            }
        }
    }

    fn escape(&mut self) -> Outcome<char> {
        let mut characters = self.rest.chars();
        let next = characters.next();
        self.rest = characters.as_str();
        match next {
            Some(same @ ('"' | '\\' | '/')) => Ok(same),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('u') => self.code_point(),
            _ => Err(self.wrong("an escape sequence")),
        }
    }

    fn code_point(&mut self) -> Outcome<char> {
        let high = self.code_unit()?;
        if !(0xd800..0xdc00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.wrong("a character"));
        }
        self.rest = self.rest.strip_prefix("\\u").ok_or_else(|| self.wrong("the second half of a character"))?;
        let low = self.code_unit()?;
        let both = 0x1_0000 + ((high - 0xd800) << 10) + low.wrapping_sub(0xdc00);
        char::from_u32(both).ok_or_else(|| self.wrong("a character"))
    }

    fn code_unit(&mut self) -> Outcome<u32> {
        let digits = self.rest.get(..4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.wrong("four hexadecimal digits"))?;
        self.rest = &self.rest[4..];
        Ok(unit)
    }

    fn number(&mut self) -> Outcome<Value> {
        let end = self.rest.find(|c: char| !(c.is_ascii_digit() || "+-.eE".contains(c))).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        if number.parse::<f64>().is_err() || number.starts_with(['+', '.']) {
            return Err(self.wrong("a value"));
        }
        self.rest = rest;
        Ok(Value::Number(number.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_kind_of_value() {
        let value =
            Value::read(r#" {"a": [1, -2.5e3, true, false, null], "b": {"c": "\u00e9\ud83d\ude00\n\""}} "#).unwrap();
        let a = Value::List(vec![
            Value::Number("1".into()),
            Value::Number("-2.5e3".into()),
            Value::Bool(true),
            Value::Bool(false),
            Value::Null,
        ]);
        assert_eq!(value.get("a"), Some(&a));
        assert_eq!(value.get("b").and_then(|b| b.get("c")), Some(&Value::String("é😀\n\"".into())));
    }

    #[test]
    fn keeps_a_key_that_is_given_twice() {
        assert_eq!(Value::read(r#"{"a":1,"a":2}"#).unwrap().entries().len(), 2);
    }

    #[test]
    fn names_the_line_of_a_mistake() {
        for (text, expected) in [
            ("{\n\"a\": 1,\n}", "line 3: expected a key in double quotes"),
            ("[1 2]", "line 1: expected `,` or `]`"),
            ("{} x", "line 1: expected nothing more"),
            ("\"a\nb\"", "line 2: expected the end of a string"),
            ("[,]", "line 1: expected a value"),
        ] {
            assert_eq!(Value::read(text).unwrap_err().to_string(), expected, "{text:?}");
        }
    }
}
