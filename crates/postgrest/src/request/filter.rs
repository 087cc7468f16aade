//! Filters: `column=operator.value`, and the logic trees of `and` and `or`.

use crate::PgError;
use crate::ast::{ColumnCondition, ComparisonOperator, IsOperand, RowFilter};

use super::cursor::ParameterCursor;

/// Maximum nesting of `and(…)` and `or(…)`, which bounds the recursion.
const MAX_DEPTH: usize = 10;

/// End of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueEnd {
    /// The end of the parameter.
    Parameter,
    /// A comma or a closing parenthesis outside of quotes.
    Term,
}

/// Parses the [`RowFilter`] of a column: `column=[not.]operator.value`.
pub(crate) fn column(column: &str, text: &str) -> Result<RowFilter, PgError> {
    let mut cursor = ParameterCursor::new("filter", text);
    let filter = comparison(column.to_owned(), &mut cursor, ValueEnd::Parameter)?;
    cursor.expect_end()?;
    Ok(filter)
}

/// Parses a logic tree: `and=(…)`, `or=(…)`, `not.and=(…)` or `not.or=(…)`.
pub(crate) fn logic(key: &str, text: &str) -> Result<RowFilter, PgError> {
    let mut cursor = ParameterCursor::after(key.len(), "logic tree", text);
    let (negated, word) = key.strip_prefix("not.").map_or((false, key), |word| (true, word));
    let parts = terms(&mut cursor, 1)?;
    cursor.expect_end()?;
    Ok(tree(negated, word == "and", parts))
}

/// Returns the number of comparisons in a [`RowFilter`].
pub(crate) fn size(filter: &RowFilter) -> usize {
    match filter {
        RowFilter::All(parts) | RowFilter::Any(parts) => parts.iter().map(size).sum(),
        RowFilter::Not(part) => size(part),
        RowFilter::Column(..) => 1,
    }
}

/// Combines terms into a [`RowFilter`].
fn tree(negated: bool, all: bool, parts: Vec<RowFilter>) -> RowFilter {
    let filter = if all { RowFilter::All(parts) } else { RowFilter::Any(parts) };
    if negated { RowFilter::Not(Box::new(filter)) } else { filter }
}

/// Parses the terms of a logic tree in parentheses.
fn terms(cursor: &mut ParameterCursor<'_>, depth: usize) -> Result<Vec<RowFilter>, PgError> {
    if depth > MAX_DEPTH {
        return Err(cursor.syntax_error("logic trees are at most 10 levels deep"));
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
fn term(cursor: &mut ParameterCursor<'_>, depth: usize) -> Result<RowFilter, PgError> {
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
        return Err(PgError::not_implemented("paths into JSON"));
    }
    cursor.spaces();
    cursor.expect(".")?;
    comparison(name, cursor, ValueEnd::Term)
}

/// Parses `[not.]operator.value`.
fn comparison(column: String, cursor: &mut ParameterCursor<'_>, ends: ValueEnd) -> Result<RowFilter, PgError> {
    let negated = cursor.eat("not.");
    // Read on a copy, so that an error points to the beginning of the operator.
    let mut ahead = cursor.clone();
    let operator = ahead.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
    let compare = |comparison| move |literal| ColumnCondition::Compare(comparison, literal);
    let known: Option<Box<dyn Fn(String) -> ColumnCondition>> = match operator {
        "eq" => Some(Box::new(compare(ComparisonOperator::Equal))),
        "neq" => Some(Box::new(compare(ComparisonOperator::NotEqual))),
        "gt" => Some(Box::new(compare(ComparisonOperator::Greater))),
        "gte" => Some(Box::new(compare(ComparisonOperator::GreaterOrEqual))),
        "lt" => Some(Box::new(compare(ComparisonOperator::Less))),
        "lte" => Some(Box::new(compare(ComparisonOperator::LessOrEqual))),
        "isdistinct" => Some(Box::new(compare(ComparisonOperator::Distinct))),
        // PostgREST accepts `*` for `%`, which would need an escape in a URL.
        "like" => Some(Box::new(|pattern| ColumnCondition::Like(pattern.replace('*', "%")))),
        "ilike" => Some(Box::new(|pattern| ColumnCondition::ILike(pattern.replace('*', "%")))),
        "in" | "is" => None,
        "match" | "imatch" | "fts" | "plfts" | "phfts" | "wfts" | "cs" | "cd" | "ov" | "sl" | "sr" | "nxr" | "nxl"
        | "adj" => return Err(PgError::not_implemented(format!("the operator {operator}"))),
        _ if negated => return Err(cursor.syntax_error("expecting operator (eq, gt, ...)")),
        _ => return Err(cursor.syntax_error("expecting \"not\" or operator (eq, gt, ...)")),
    };
    // `eq(any).{1,2}` and the like.
    if ahead.looks_at("(") {
        return Err(PgError::not_implemented(format!("a modifier of the operator {operator}")));
    }
    ahead.expect(".")?;
    *cursor = ahead;
    let test = match known {
        Some(test) => test(value(cursor, ends)),
        None if operator == "in" => ColumnCondition::In(values(cursor)?),
        None => is(cursor, ends)?,
    };
    let filter = RowFilter::Column(column, test);
    Ok(if negated { RowFilter::Not(Box::new(filter)) } else { filter })
}

/// Reads a value up to its end.
fn value(cursor: &mut ParameterCursor<'_>, ends: ValueEnd) -> String {
    match ends {
        ValueEnd::Parameter => cursor.take_while(|_| true).to_owned(),
        ValueEnd::Term => quoted(cursor).or_else(|| braced(cursor)).unwrap_or_else(|| bare(cursor)),
    }
}

/// Reads a quoted value. If more text follows the closing quote, the quotes are part of an unquoted value.
fn quoted(cursor: &mut ParameterCursor<'_>) -> Option<String> {
    let mut ahead = cursor.clone();
    let text = ahead.quoted().ok()?;
    let whole = ahead.at_end() || ahead.looks_at(",") || ahead.looks_at(")");
    whole.then(|| {
        *cursor = ahead;
        text
    })
}

/// Reads an array literal in braces, whose commas do not end the value.
fn braced(cursor: &mut ParameterCursor<'_>) -> Option<String> {
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
fn bare(cursor: &mut ParameterCursor<'_>) -> String {
    cursor.take_while(|c| c != ',' && c != ')').to_owned()
}

/// Reads a list of values: `(a,"b,c")`.
fn values(cursor: &mut ParameterCursor<'_>) -> Result<Vec<String>, PgError> {
    cursor.expect_spaced("(")?;
    if cursor.eat_spaced(")") {
        return Ok(Vec::new());
    }
    let one = |cursor: &mut ParameterCursor<'_>| quoted(cursor).unwrap_or_else(|| bare(cursor));
    let mut values = vec![one(cursor)];
    while cursor.eat(",") {
        values.push(one(cursor));
    }
    cursor.expect_spaced(")")?;
    Ok(values)
}

/// Reads the operand of `is`.
fn is(cursor: &mut ParameterCursor<'_>, ends: ValueEnd) -> Result<ColumnCondition, PgError> {
    // Errors point to the beginning of the word.
    let before = cursor.clone();
    let word = if ends == ValueEnd::Term { bare(cursor) } else { value(cursor, ends) };
    Ok(ColumnCondition::Is(match word.trim_end().to_ascii_lowercase().as_str() {
        "null" => IsOperand::Null,
        "not_null" => IsOperand::NotNull,
        "true" => IsOperand::Boolean("TRUE"),
        "false" => IsOperand::Boolean("FALSE"),
        "unknown" => IsOperand::Boolean("UNKNOWN"),
        _ => return Err(before.syntax_error("expecting isVal: (null, not_null, true, false, unknown)")),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(name: &str, test: ColumnCondition) -> RowFilter {
        RowFilter::Column(name.into(), test)
    }

    fn eq(name: &str, literal: &str) -> RowFilter {
        test(name, ColumnCondition::Compare(ComparisonOperator::Equal, literal.into()))
    }

    fn not(filter: RowFilter) -> RowFilter {
        RowFilter::Not(Box::new(filter))
    }

    #[test]
    fn filters_of_one_column() {
        for (text, want) in [
            ("eq.a,b).\"c\"", eq("t", "a,b).\"c\"")),
            ("eq.", eq("t", "")),
            ("not.eq.a", not(eq("t", "a"))),
            ("like.*a%", test("t", ColumnCondition::Like("%a%".into()))),
            (
                "in.(a,\"b,\\\"c\\\\\",)",
                test("t", ColumnCondition::In(vec!["a".into(), "b,\"c\\".into(), String::new()])),
            ),
            ("in.()", test("t", ColumnCondition::In(vec![]))),
            ("in.( a, b )", test("t", ColumnCondition::In(vec!["a".into(), " b ".into()]))),
            (
                "in.(\"\",\"a\"b,\"c)",
                test("t", ColumnCondition::In(vec![String::new(), "\"a\"b".into(), "\"c".into()])),
            ),
            ("not.is.NULL", not(test("t", ColumnCondition::Is(IsOperand::Null)))),
            ("is.not_null", test("t", ColumnCondition::Is(IsOperand::NotNull))),
            ("isdistinct.x", test("t", ColumnCondition::Compare(ComparisonOperator::Distinct, "x".into()))),
        ] {
            assert_eq!(column("t", text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn logic_trees() {
        let text = "(title.ilike.%a,b.eq.\"x,)\\\"y\", and(id.gt.1,title.is.null),not.or(a.not.in.(1,2),b.eq.))";
        let want = RowFilter::Any(vec![
            test("title", ColumnCondition::ILike("%a".into())),
            eq("b", "x,)\"y"),
            RowFilter::All(vec![
                test("id", ColumnCondition::Compare(ComparisonOperator::Greater, "1".into())),
                test("title", ColumnCondition::Is(IsOperand::Null)),
            ]),
            not(RowFilter::Any(vec![not(test("a", ColumnCondition::In(vec!["1".into(), "2".into()]))), eq("b", "")])),
        ]);
        let read = logic("or", text).unwrap();
        assert_eq!(size(&read), 6);
        assert_eq!(read, want);
        let within = logic("or", "( a.eq.\"1\"2 , b.eq.{1,2},c.is.null )").unwrap();
        let null = test("c", ColumnCondition::Is(IsOperand::Null));
        assert_eq!(within, RowFilter::Any(vec![eq("a", "\"1\"2 "), eq("b", "{1,2}"), null]));
        assert_eq!(logic("not.and", "(a.eq.1)").unwrap(), not(RowFilter::All(vec![eq("a", "1")])));
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
