//! SelectList lists, sort orders and column lists.

use crate::ast::{OrderTerm, SelectItem, SelectList};
use crate::{PgError, RestTable};

use super::cursor::ParameterCursor;

/// Maximum number of items in a list.
const MAX_ITEMS: usize = 100;

/// Parses a select list: `select=id,name:title,*`.
pub(crate) fn select(table: RestTable, text: &str) -> Result<SelectList, PgError> {
    if text.is_empty() {
        // PostgREST treats an empty `select` as `*`.
        return Ok(SelectList::default());
    }
    let mut cursor = ParameterCursor::new("select parameter", text);
    Ok(SelectList { items: list(&mut cursor, |cursor| item(table, cursor))? })
}

/// Parses a sort order: `order=updated_at.desc.nullslast,id`.
pub(crate) fn order(text: &str) -> Result<Vec<OrderTerm>, PgError> {
    list(&mut ParameterCursor::new("order", text), term)
}

/// Parses a list of columns: `columns="a","b"` or `on_conflict=a,b`.
pub(crate) fn names(what: &'static str, text: &str) -> Result<Vec<String>, PgError> {
    list(&mut ParameterCursor::new(what, text), ParameterCursor::name)
}

/// Parses items that are separated by commas.
fn list<'a, T>(
    cursor: &mut ParameterCursor<'a>,
    mut one: impl FnMut(&mut ParameterCursor<'a>) -> Result<T, PgError>,
) -> Result<Vec<T>, PgError> {
    let mut items = vec![one(cursor)?];
    while cursor.eat(",") {
        if items.len() == MAX_ITEMS {
            return Err(cursor.syntax_error("a list has at most 100 items"));
        }
        items.push(one(cursor)?);
    }
    cursor.expect_end()?;
    Ok(items)
}

/// Parses an item of a select list.
fn item(table: RestTable, cursor: &mut ParameterCursor<'_>) -> Result<SelectItem, PgError> {
    cursor.spaces();
    // `...table` would spread an embedded table.
    if cursor.eat("...") {
        return Err(no_relationship(table, &cursor.name()?));
    }
    if cursor.eat("*") {
        return Ok(SelectItem::All);
    }
    let mut name = cursor.name()?;
    let mut alias = None;
    // `name::type` is a cast and `alias:name` a new name.
    if !cursor.looks_at("::") && cursor.eat(":") {
        alias = Some(name);
        name = cursor.name()?;
    }
    if cursor.looks_at("::") {
        return Err(PgError::not_implemented("casts in a select list"));
    }
    if cursor.looks_at("->") {
        return Err(PgError::not_implemented("paths into JSON"));
    }
    // `column.sum()` and the like, and `count()`.
    let aggregate = ["sum", "avg", "count", "max", "min"].iter().any(|word| {
        let mut ahead = cursor.clone();
        ahead.eat(".") && ahead.eat(word) && ahead.looks_at("()")
    });
    if aggregate || (name == "count" && cursor.looks_at("()")) {
        return Err(PgError::new("PGRST123", "Use of aggregate functions is not allowed"));
    }
    if cursor.looks_at("(") || cursor.looks_at("!") {
        return Err(no_relationship(table, &name));
    }
    cursor.spaces();
    Ok(SelectItem::Column { name, alias })
}

/// Returns PostgREST's error for an embedded table. No table of this API can embed another one.
fn no_relationship(table: RestTable, other: &str) -> PgError {
    let table = table.name();
    PgError::new(
        "PGRST200",
        format!("Could not find a relationship between '{table}' and '{other}' in the schema cache"),
    )
    .with_details(format!(
        "Searched for a foreign key relationship between '{table}' and '{other}' in the schema 'public', but no \
             matches were found."
    ))
}

/// Returns PostgREST's error for a parameter of a table that is not embedded.
pub(crate) fn not_embedded(other: &str) -> PgError {
    PgError::new("PGRST108", format!("'{other}' is not an embedded resource in this request"))
        .with_hint(format!("Verify that '{other}' is included in the 'select' query parameter."))
}

/// Parses the key of a filter. Returns the column and `false`, or a table that is not embedded and `true`.
pub(crate) fn path(key: &str) -> Result<(String, bool), PgError> {
    let mut cursor = ParameterCursor::new("tree path", key);
    let first = cursor.name()?;
    let mut embedded = false;
    while cursor.eat(".") {
        cursor.name()?;
        embedded = true;
    }
    if cursor.looks_at("->") {
        return Err(PgError::not_implemented("paths into JSON"));
    }
    cursor.expect_end()?;
    Ok((first, embedded))
}

/// Parses a term of a sort order.
fn term(cursor: &mut ParameterCursor<'_>) -> Result<OrderTerm, PgError> {
    cursor.spaces();
    let column = cursor.name()?;
    if cursor.looks_at("->") {
        return Err(PgError::not_implemented("paths into JSON"));
    }
    if cursor.looks_at("(") {
        return Err(not_embedded(&column));
    }
    let mut order = OrderTerm { column, descending: false, nulls_first: None };
    let mut directed = false;
    while cursor.eat(".") {
        let before = cursor.clone();
        let word = cursor.take_while(|c| c.is_ascii_lowercase());
        match word {
            // In PostgREST's grammar the direction comes before the position of nulls.
            "asc" | "desc" if !directed && order.nulls_first.is_none() => {
                directed = true;
                order.descending = word == "desc";
            }
            "nullsfirst" | "nullslast" if order.nulls_first.is_none() => {
                order.nulls_first = Some(word == "nullsfirst");
            }
            _ => return Err(before.syntax_error("expecting \"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"")),
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> &'static str {
        select(RestTable::Sessions, text).unwrap_err().code
    }

    #[test]
    fn select_lists() {
        let column =
            |name: &str, alias: Option<&str>| SelectItem::Column { name: name.into(), alias: alias.map(str::to_owned) };
        let read = select(RestTable::Sessions, "*, id , name:title,\"a \\\" b\":\"title\"").unwrap();
        assert_eq!(select(RestTable::Sessions, "").unwrap(), SelectList::default());
        let want =
            [SelectItem::All, column("id", None), column("title", Some("name")), column("title", Some("a \" b"))];
        assert_eq!(read.items, want);
    }

    #[test]
    fn what_a_select_list_cannot_do_is_refused_by_its_code() {
        for (text, want) in [
            ("id,", "PGRST100"),
            ("id)", "PGRST100"),
            ("\"id", "PGRST100"),
            ("id::text", "PGRST127"),
            ("a:id::text", "PGRST127"),
            ("tools->0", "PGRST127"),
            ("count()", "PGRST123"),
            ("id.max()", "PGRST123"),
            ("id.first()", "PGRST100"),
            ("ai_chat_messages(*)", "PGRST200"),
            ("m:ai_chat_messages!inner(id)", "PGRST200"),
            ("...ai_chat_messages(id)", "PGRST200"),
        ] {
            assert_eq!(code(text), want, "{text}");
        }
        assert_eq!(code(&vec!["id"; 101].join(",")), "PGRST100");
    }

    #[test]
    fn orders() {
        let by = |column: &str, descending, nulls_first| OrderTerm { column: column.into(), descending, nulls_first };
        let want =
            vec![by("a", false, None), by("b", true, None), by("c", false, Some(true)), by("d", true, Some(false))];
        assert_eq!(order("a,b.desc,c.nullsfirst,d.desc.nullslast").unwrap(), want);
        for bad in ["", "a.up", "a.nullsfirst.desc", "a.asc.desc", "a,", "a.desc b"] {
            assert_eq!(order(bad).unwrap_err().code, "PGRST100", "{bad}");
        }
        assert_eq!(order("ai_chat_messages(id)").unwrap_err().code, "PGRST108");
    }
}
