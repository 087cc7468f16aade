//! Filters: `column=operator.value`, and the logic trees of `and` and `or`.

use store::rest::Fault;
use store::rest::ast::{Comparison, Filter, Is, Test};

use super::cursor::Cursor;

/// Maximum nesting of `and(…)` and `or(…)`, which bounds the recursion.
const MAX_DEPTH: usize = 10;

/// End of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    /// The end of the parameter.
    Parameter,
    /// A comma or a closing parenthesis outside of quotes.
    Term,
}

/// Parses the [`Filter`] of a column: `column=[not.]operator.value`.
pub(super) fn column(column: &str, text: &str) -> Result<Filter, Fault> {
    let mut cursor = Cursor::new("filter", text);
    let filter = comparison(column.to_owned(), &mut cursor, Ends::Parameter)?;
    cursor.expect_end()?;
    Ok(filter)
}

/// Parses a logic tree: `and=(…)`, `or=(…)`, `not.and=(…)` or `not.or=(…)`.
pub(super) fn logic(key: &str, text: &str) -> Result<Filter, Fault> {
    let mut cursor = Cursor::after(key.len(), "logic tree", text);
    let (negated, word) = key.strip_prefix("not.").map_or((false, key), |word| (true, word));
    let parts = terms(&mut cursor, 1)?;
    cursor.expect_end()?;
    Ok(tree(negated, word == "and", parts))
}

/// Returns the number of comparisons in a [`Filter`].
pub(super) fn size(filter: &Filter) -> usize {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => parts.iter().map(size).sum(),
        Filter::Not(part) => size(part),
        Filter::Test(..) => 1,
    }
}

/// Combines terms into a [`Filter`].
fn tree(negated: bool, all: bool, parts: Vec<Filter>) -> Filter {
    let filter = if all { Filter::All(parts) } else { Filter::Any(parts) };
    if negated { Filter::Not(Box::new(filter)) } else { filter }
}

/// Parses the terms of a logic tree in parentheses.
fn terms(cursor: &mut Cursor<'_>, depth: usize) -> Result<Vec<Filter>, Fault> {
    if depth > MAX_DEPTH {
        return Err(cursor.fault("logic trees are at most 10 levels deep"));
    }
    cursor.expect_spaced("(")?;
    let mut parts = vec![term(cursor, depth)?];
    while cursor.eat_spaced(",") {
        parts.push(term(cursor, depth)?);
    }
    cursor.expect_spaced(")")?;
    Ok(parts)
}

/// Parses a nested logic tree or a comparison.
fn term(cursor: &mut Cursor<'_>, depth: usize) -> Result<Filter, Fault> {
    for (word, negated, all) in
        [("and", false, true), ("or", false, false), ("not.and", true, true), ("not.or", true, false)]
    {
        // A column may be called `and`, so only a following parenthesis makes it a tree.
        let mut ahead = cursor.clone();
        if ahead.eat(word) && ahead.clone().eat_spaced("(") {
            *cursor = ahead;
            return Ok(tree(negated, all, terms(cursor, depth + 1)?));
        }
    }
    let name = cursor.name()?;
    if cursor.looks_at("->") {
        return Err(Fault::unsupported("paths into JSON"));
    }
    cursor.spaces();
    cursor.expect(".")?;
    comparison(name, cursor, Ends::Term)
}

/// Parses `[not.]operator.value`.
fn comparison(column: String, cursor: &mut Cursor<'_>, ends: Ends) -> Result<Filter, Fault> {
    let negated = cursor.eat("not.");
    // Read on a copy, so that an error points to the beginning of the operator.
    let mut ahead = cursor.clone();
    let operator = ahead.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
    let compare = |comparison| move |literal| Test::Compare(comparison, literal);
    let known: Option<Box<dyn Fn(String) -> Test>> = match operator {
        "eq" => Some(Box::new(compare(Comparison::Equal))),
        "neq" => Some(Box::new(compare(Comparison::NotEqual))),
        "gt" => Some(Box::new(compare(Comparison::Greater))),
        "gte" => Some(Box::new(compare(Comparison::GreaterOrEqual))),
        "lt" => Some(Box::new(compare(Comparison::Less))),
        "lte" => Some(Box::new(compare(Comparison::LessOrEqual))),
        "isdistinct" => Some(Box::new(compare(Comparison::Distinct))),
        // PostgREST accepts `*` for `%`, which would need an escape in a URL.
        "like" => Some(Box::new(|pattern| Test::Like(pattern.replace('*', "%")))),
        "ilike" => Some(Box::new(|pattern| Test::ILike(pattern.replace('*', "%")))),
        "in" | "is" => None,
        "match" | "imatch" | "fts" | "plfts" | "phfts" | "wfts" | "cs" | "cd" | "ov" | "sl" | "sr" | "nxr" | "nxl"
        | "adj" => return Err(Fault::unsupported(format!("the operator {operator}"))),
        _ if negated => return Err(cursor.fault("expecting operator (eq, gt, ...)")),
        _ => return Err(cursor.fault("expecting \"not\" or operator (eq, gt, ...)")),
    };
    if ahead.looks_at("(") {
        return Err(Fault::unsupported(format!("a modifier of the operator {operator}")));
    }
    ahead.expect(".")?;
    *cursor = ahead;
    let test = match known {
        Some(test) => test(value(cursor, ends)),
        None if operator == "in" => Test::In(values(cursor)?),
        None => is(cursor, ends)?,
    };
    let filter = Filter::Test(column, test);
    Ok(if negated { Filter::Not(Box::new(filter)) } else { filter })
}

/// Reads a value up to its end.
fn value(cursor: &mut Cursor<'_>, ends: Ends) -> String {
    match ends {
        Ends::Parameter => cursor.take_while(|_| true).to_owned(),
        Ends::Term => quoted(cursor).or_else(|| braced(cursor)).unwrap_or_else(|| bare(cursor)),
    }
}

/// Reads a quoted value. If more text follows the closing quote, the quotes are part of an unquoted value.
fn quoted(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut ahead = cursor.clone();
    let text = ahead.quoted().ok()?;
    let whole = ahead.at_end() || ahead.looks_at(",") || ahead.looks_at(")");
    whole.then(|| {
        *cursor = ahead;
        text
    })
}

/// Reads an array literal in braces, whose commas do not end the value.
fn braced(cursor: &mut Cursor<'_>) -> Option<String> {
    let mut ahead = cursor.clone();
    if !ahead.eat("{") {
        return None;
    }
    let within = ahead.take_while(|c| !matches!(c, '{' | '}'));
    ahead.eat("}").then(|| {
        *cursor = ahead;
        format!("{{{within}}}")
    })
}

/// Reads an unquoted value.
fn bare(cursor: &mut Cursor<'_>) -> String {
    cursor.take_while(|c| c != ',' && c != ')').to_owned()
}

/// Reads a list of values: `(a,"b,c")`.
fn values(cursor: &mut Cursor<'_>) -> Result<Vec<String>, Fault> {
    cursor.expect_spaced("(")?;
    if cursor.eat_spaced(")") {
        return Ok(Vec::new());
    }
    let one = |cursor: &mut Cursor<'_>| quoted(cursor).unwrap_or_else(|| bare(cursor));
    let mut values = vec![one(cursor)];
    while cursor.eat(",") {
        values.push(one(cursor));
    }
    cursor.expect_spaced(")")?;
    Ok(values)
}

/// Reads the operand of `is`.
fn is(cursor: &mut Cursor<'_>, ends: Ends) -> Result<Test, Fault> {
    // Errors point to the beginning of the word.
    let before = cursor.clone();
    let word = if ends == Ends::Term { bare(cursor) } else { value(cursor, ends) };
    Ok(Test::Is(match word.trim_end().to_ascii_lowercase().as_str() {
        "null" => Is::Null,
        "not_null" => Is::NotNull,
        "true" => Is::Boolean("TRUE"),
        "false" => Is::Boolean("FALSE"),
        "unknown" => Is::Boolean("UNKNOWN"),
        _ => return Err(before.fault("expecting isVal: (null, not_null, true, false, unknown)")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, test: Test) -> Filter {
        Filter::Test(name.into(), test)
    }

    fn eq(name: &str, literal: &str) -> Filter {
        test(name, Test::Compare(Comparison::Equal, literal.into()))
    }

    fn not(filter: Filter) -> Filter {
        Filter::Not(Box::new(filter))
    }

    #[test]
    fn filters_of_one_column() {
        for (text, want) in [
            ("eq.a,b).\"c\"", eq("t", "a,b).\"c\"")),
            ("eq.", eq("t", "")),
            ("not.eq.a", not(eq("t", "a"))),
            ("like.*a%", test("t", Test::Like("%a%".into()))),
            ("in.(a,\"b,\\\"c\\\\\",)", test("t", Test::In(vec!["a".into(), "b,\"c\\".into(), String::new()]))),
            ("in.()", test("t", Test::In(vec![]))),
            ("in.( a, b )", test("t", Test::In(vec!["a".into(), " b ".into()]))),
            ("in.(\"\",\"a\"b,\"c)", test("t", Test::In(vec![String::new(), "\"a\"b".into(), "\"c".into()]))),
            ("not.is.NULL", not(test("t", Test::Is(Is::Null)))),
            ("is.not_null", test("t", Test::Is(Is::NotNull))),
            ("isdistinct.x", test("t", Test::Compare(Comparison::Distinct, "x".into()))),
        ] {
            assert_eq!(column("t", text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn logic_trees() {
        let text = "(title.ilike.%a,b.eq.\"x,)\\\"y\", and(id.gt.1,title.is.null),not.or(a.not.in.(1,2),b.eq.))";
        let want = Filter::Any(vec![
            test("title", Test::ILike("%a".into())),
            eq("b", "x,)\"y"),
            Filter::All(vec![
                test("id", Test::Compare(Comparison::Greater, "1".into())),
                test("title", Test::Is(Is::Null)),
            ]),
            not(Filter::Any(vec![not(test("a", Test::In(vec!["1".into(), "2".into()]))), eq("b", "")])),
        ]);
        let read = logic("or", text).unwrap();
        assert_eq!(size(&read), 6);
        assert_eq!(read, want);
        let within = logic("or", "( a.eq.\"1\"2 , b.eq.{1,2},c.is.null )").unwrap();
        let null = test("c", Test::Is(Is::Null));
        assert_eq!(within, Filter::Any(vec![eq("a", "\"1\"2 "), eq("b", "{1,2}"), null]));
        assert_eq!(logic("not.and", "(a.eq.1)").unwrap(), not(Filter::All(vec![eq("a", "1")])));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for text in ["a", "", "eqq.1", "eq", "is.maybe", "in.a", "in.(a", "in.(a)b", "in.(\"a", "not.not.eq.1"] {
            assert_eq!(column("t", text).unwrap_err().code, "PGRST100", "{text}");
        }
        for text in ["fts.a", "fts(english).a", "eq(any).{a}", "match.^a", "cs.{a}", "like(all).{a}"] {
            assert_eq!(column("t", text).unwrap_err().code, "PGRST127", "{text}");
        }
        for text in [
            "",
            "a.eq.1",
            "(",
            "()",
            "(a)",
            "(a.eq.1",
            "(a.eq.1)b",
            "(a.eq.{1}2)",
            "(a.is.\"null\")",
            "(and())",
            "(a.eq.1,)",
        ] {
            assert_eq!(logic("or", text).unwrap_err().code, "PGRST100", "{text}");
        }
        let deep = |levels: usize| format!("{}(a.eq.1){}", "(and".repeat(levels - 1), ")".repeat(levels - 1));
        assert!(logic("or", &deep(MAX_DEPTH)).is_ok());
        assert_eq!(logic("or", &deep(MAX_DEPTH + 1)).unwrap_err().code, "PGRST100");
        assert_eq!(logic("or", &deep(2_000)).unwrap_err().code, "PGRST100");
    }
}
