//! Select lists, sort orders and column lists.

use store::rest::ast::{Item, Order, Select};
use store::rest::{Fault, Table};

use super::cursor::Cursor;

/// Maximum number of items in a list.
const MAX_ITEMS: usize = 100;

/// Parses a select list: `select=id,name:title,*`.
pub(super) fn select(table: Table, text: &str) -> Result<Select, Fault> {
    if text.is_empty() {
        return Ok(Select::default());
    }
    let mut cursor = Cursor::new("select parameter", text);
    Ok(Select { items: list(&mut cursor, |cursor| item(table, cursor))? })
}

/// Parses a sort order: `order=updated_at.desc.nullslast,id`.
pub(super) fn order(text: &str) -> Result<Vec<Order>, Fault> {
    list(&mut Cursor::new("order", text), term)
}

/// Parses a list of columns: `columns="a","b"` or `on_conflict=a,b`.
pub(super) fn names(what: &'static str, text: &str) -> Result<Vec<String>, Fault> {
    list(&mut Cursor::new(what, text), Cursor::name)
}

/// Parses items that are separated by commas.
fn list<'a, T>(
    cursor: &mut Cursor<'a>,
    mut one: impl FnMut(&mut Cursor<'a>) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let mut items = vec![one(cursor)?];
    while cursor.eat(",") {
        if items.len() == MAX_ITEMS {
            return Err(cursor.fault("a list has at most 100 items"));
        }
        items.push(one(cursor)?);
    }
    cursor.expect_end()?;
    Ok(items)
}

/// Parses an item of a select list.
fn item(table: Table, cursor: &mut Cursor<'_>) -> Result<Item, Fault> {
    cursor.spaces();
    // `...table` would spread an embedded table.
    if cursor.eat("...") {
        return Err(no_relationship(table, &cursor.name()?));
    }
    if cursor.eat("*") {
        return Ok(Item::All);
    }
    let mut name = cursor.name()?;
    let mut alias = None;
    // `name::type` is a cast and `alias:name` a new name.
    if !cursor.looks_at("::") && cursor.eat(":") {
        alias = Some(name);
        name = cursor.name()?;
    }
    if cursor.looks_at("::") {
        return Err(Fault::unsupported("casts in a select list"));
    }
    if cursor.looks_at("->") {
        return Err(Fault::unsupported("paths into JSON"));
    }
    // `column.sum()` and the like, and `count()`.
    let aggregate = ["sum", "avg", "count", "max", "min"].iter().any(|word| {
        let mut ahead = cursor.clone();
        ahead.eat(".") && ahead.eat(word) && ahead.looks_at("()")
    });
    if aggregate || (name == "count" && cursor.looks_at("()")) {
        return Err(Fault::new("PGRST123", "Use of aggregate functions is not allowed"));
    }
    if cursor.looks_at("(") || cursor.looks_at("!") {
        return Err(no_relationship(table, &name));
    }
    cursor.spaces();
    Ok(Item::Column { name, alias })
}

/// Returns PostgREST's error for an embedded table. No table of this API can embed another one.
fn no_relationship(table: Table, other: &str) -> Fault {
    let table = table.name();
    Fault::new("PGRST200", format!("Could not find a relationship between '{table}' and '{other}' in the schema cache"))
        .details(format!(
            "Searched for a foreign key relationship between '{table}' and '{other}' in the schema 'public', but no \
             matches were found."
        ))
}

/// Returns PostgREST's error for a parameter of a table that is not embedded.
pub(super) fn not_embedded(other: &str) -> Fault {
    Fault::new("PGRST108", format!("'{other}' is not an embedded resource in this request"))
        .hint(format!("Verify that '{other}' is included in the 'select' query parameter."))
}

/// Parses the key of a filter. Returns the column and `false`, or a table that is not embedded and `true`.
pub(super) fn path(key: &str) -> Result<(String, bool), Fault> {
    let mut cursor = Cursor::new("tree path", key);
    let first = cursor.name()?;
    let mut embedded = false;
    while cursor.eat(".") {
        cursor.name()?;
        embedded = true;
    }
    if cursor.looks_at("->") {
        return Err(Fault::unsupported("paths into JSON"));
    }
    cursor.expect_end()?;
    Ok((first, embedded))
}

/// Parses a term of a sort order.
fn term(cursor: &mut Cursor<'_>) -> Result<Order, Fault> {
    cursor.spaces();
    let column = cursor.name()?;
    if cursor.looks_at("->") {
        return Err(Fault::unsupported("paths into JSON"));
    }
    if cursor.looks_at("(") {
        return Err(not_embedded(&column));
    }
    let mut order = Order { column, descending: false, nulls_first: None };
    let mut directed = false;
    while cursor.eat(".") {
        let before = cursor.clone();
        let word = cursor.take_while(|c| c.is_ascii_lowercase());
        match word {
            "asc" | "desc" if !directed && order.nulls_first.is_none() => {
                directed = true;
                order.descending = word == "desc";
            }
            "nullsfirst" | "nullslast" if order.nulls_first.is_none() => {
                order.nulls_first = Some(word == "nullsfirst");
            }
            _ => return Err(before.fault("expecting \"asc\", \"desc\", \"nullsfirst\" or \"nullslast\"")),
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> &'static str {
        select(Table::Sessions, text).unwrap_err().code
    }

    #[test]
    fn select_lists() {
        let column =
            |name: &str, alias: Option<&str>| Item::Column { name: name.into(), alias: alias.map(str::to_owned) };
        let read = select(Table::Sessions, "*, id , name:title,\"a \\\" b\":\"title\"").unwrap();
        assert_eq!(select(Table::Sessions, "").unwrap(), Select::default());
        let want = [Item::All, column("id", None), column("title", Some("name")), column("title", Some("a \" b"))];
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
        let by = |column: &str, descending, nulls_first| Order { column: column.into(), descending, nulls_first };
        let want =
            vec![by("a", false, None), by("b", true, None), by("c", false, Some(true)), by("d", true, Some(false))];
        assert_eq!(order("a,b.desc,c.nullsfirst,d.desc.nullslast").unwrap(), want);
        for bad in ["", "a.up", "a.nullsfirst.desc", "a.asc.desc", "a,", "a.desc b"] {
            assert_eq!(order(bad).unwrap_err().code, "PGRST100", "{bad}");
        }
        assert_eq!(order("ai_chat_messages(id)").unwrap_err().code, "PGRST108");
    }
}
