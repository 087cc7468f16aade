//! Values bound by name. sqlx binds by position only, and in a long list two values of the same type are easily swapped.

/// Builds a query from a constant statement with placeholders such as `:title`:
/// `query_named!(INSERT, id = chat.id.0, title = &chat.title)`. Another function than `sqlx::query` comes first:
/// `query_named!(sqlx::query_as::<_, Row>, GET, …)`.
///
/// A placeholder without a value, or a value without a placeholder, does not compile.
macro_rules! query_named {
    ($sql:path, $($name:ident = $value:expr),+ $(,)?) => {
        $crate::named_values::query_named!(sqlx::query, $sql, $($name = $value),+)
    };
    ($query:expr, $sql:path, $($name:ident = $value:expr),+ $(,)?) => {{
        const NUMBERED: [u8; $sql.len()] =
            $crate::named_values::number_placeholders($sql, &[$(stringify!($name)),+]);
        const STATEMENT: &str = $crate::named_values::text_of(&NUMBERED);
        $query(STATEMENT)$(.bind($value))+
    }};
}

pub(crate) use query_named;

/// Replaces each placeholder `:name` by `$n`, where n is the position of the name in `names` and the first is 1. Fills
/// up with spaces to the length of the placeholder, so that the length of the statement stays the same.
///
/// # Panics
///
/// If a name is missing in the statement or in `names`, or if a placeholder is too short for its number. Panics of
/// constants are errors of the compiler.
pub(crate) const fn number_placeholders<const LENGTH: usize>(statement: &str, names: &[&str]) -> [u8; LENGTH] {
    let statement = statement.as_bytes();
    assert!(statement.len() == LENGTH && names.len() < 100);
    let mut numbered = [b' '; LENGTH];
    let mut is_used = [false; 100];
    let mut at = 0;
    while at < LENGTH {
        let start = at;
        at += 1;
        // `::` is a cast of PostgreSQL.
        let is_placeholder = statement[start] == b':' && (start == 0 || statement[start - 1] != b':');
        while is_placeholder && at < LENGTH && is_part_of_name(statement[at]) {
            at += 1;
        }
        if at == start + 1 {
            numbered[start] = statement[start];
            continue;
        }
        let index = position(names, statement, start + 1, at);
        is_used[index] = true;
        let number = index + 1;
        assert!(number < 10 || at > start + 2, "a placeholder needs two letters");
        numbered[start] = b'$';
        if number < 10 {
            numbered[start + 1] = b'0' + number as u8;
        } else {
            numbered[start + 1] = b'0' + (number / 10) as u8;
            numbered[start + 2] = b'0' + (number % 10) as u8;
        }
    }
    let mut index = 0;
    while index < names.len() {
        assert!(is_used[index], "a value has no placeholder in the statement");
        index += 1;
    }
    numbered
}

const fn is_part_of_name(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'
}

/// Returns the index in `names` of the name between `from` and `to`.
const fn position(names: &[&str], statement: &[u8], from: usize, to: usize) -> usize {
    let mut index = 0;
    while index < names.len() {
        let name = names[index].as_bytes();
        let mut matching = 0;
        while matching < name.len() && from + matching < to && name[matching] == statement[from + matching] {
            matching += 1;
        }
        if matching == name.len() && from + matching == to {
            return index;
        }
        index += 1;
    }
    assert!(index < names.len(), "a placeholder of the statement has no value");
    index
}

/// Returns the text of a numbered statement. Only ASCII characters were replaced, so that it is UTF-8 as before.
pub(crate) const fn text_of(numbered: &[u8]) -> &str {
    match str::from_utf8(numbered) {
        Ok(text) => text,
        Err(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered<const LENGTH: usize>(statement: &str, names: &[&str]) -> String {
        text_of(&number_placeholders::<LENGTH>(statement, names)).to_owned()
    }

    #[test]
    fn numbers_placeholders_by_order_of_values() {
        assert_eq!(numbered::<23>("a = :title AND b = :id ", &["id", "title"]), "a = $2     AND b = $1  ");
        // The same value more than once, a name that begins with another, and a cast.
        assert_eq!(numbered::<28>(":id, :id_of, :id::text, 'é'", &["id_of", "id"]), "$2 , $1    , $2 ::text, 'é'");
    }

    #[test]
    #[should_panic(expected = "a placeholder of the statement has no value")]
    fn rejects_placeholder_without_value() {
        numbered::<8>(":id, :tz", &["id"]);
    }

    #[test]
    #[should_panic(expected = "a value has no placeholder in the statement")]
    fn rejects_value_without_placeholder() {
        numbered::<3>(":id", &["id", "title"]);
    }
}
