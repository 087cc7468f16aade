//! Parsing of the query string.

use crate::ast::{OrderTerm, RowFilter, SelectList};
use crate::{PgError, RestTable};

use super::{filter, select_list};

/// Maximum number of comparisons in a request.
const MAX_COMPARISONS: usize = 100;

/// Parsed query parameters.
#[derive(Debug, Default)]
pub struct QueryParameters {
    /// `select`.
    pub select: Option<SelectList>,
    /// Filters by column, `and` and `or`, all of which must hold.
    pub filters: Vec<RowFilter>,
    /// `order`.
    pub order: Option<Vec<OrderTerm>>,
    /// `limit`.
    pub limit: Option<u64>,
    /// `offset`.
    pub offset: Option<u64>,
    /// `columns`: the columns that a write takes from its body.
    pub columns: Option<Vec<String>>,
    /// `on_conflict`: the unique key of an upsert.
    pub on_conflict: Option<Vec<String>>,
}

impl QueryParameters {
    /// Parses the query string of a request for `table`.
    ///
    /// # Errors
    ///
    /// [`PgError`] with the code of PostgREST, for instance `PGRST100` for a syntax error.
    pub fn parse(table: RestTable, query: &str) -> Result<Self, PgError> {
        let mut parameters = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (decoded(key)?, decoded(value)?);
            parameters.take(table, &key, &value)?;
        }
        if parameters.filters.iter().map(filter::size).sum::<usize>() > MAX_COMPARISONS {
            return Err(PgError::new("PGRST100", "a request makes at most 100 comparisons"));
        }
        Ok(parameters)
    }

    fn take(&mut self, table: RestTable, key: &str, value: &str) -> Result<(), PgError> {
        match key {
            "select" => once(key, &mut self.select, select_list::select(table, value)?),
            "order" => once(key, &mut self.order, select_list::order(value)?),
            "limit" => once(key, &mut self.limit, number("Limit", value)?),
            "offset" => once(key, &mut self.offset, number("Offset", value)?),
            "columns" => once(key, &mut self.columns, select_list::names("columns parameter", value)?),
            "on_conflict" => once(key, &mut self.on_conflict, select_list::names("on_conflict parameter", value)?),
            "and" | "or" | "not.and" | "not.or" => {
                self.filters.push(filter::logic(key, value)?);
                Ok(())
            }
            _ => {
                let (column, embedded) = select_list::path(key)?;
                if embedded {
                    return Err(select_list::not_embedded(&column));
                }
                self.filters.push(filter::column(&column, value)?);
                Ok(())
            }
        }
    }
}

/// Stores a parameter, and rejects a repeated one.
fn once<T>(key: &str, slot: &mut Option<T>, value: T) -> Result<(), PgError> {
    if slot.replace(value).is_some() {
        return Err(PgError::new("PGRST100", format!("\"{key}\" is given twice")));
    }
    Ok(())
}

/// Parses a number of rows.
fn number(what: &str, text: &str) -> Result<u64, PgError> {
    // Negative numbers have an error of their own in PostgREST.
    match text.parse::<i64>() {
        Ok(number) => u64::try_from(number).map_err(|_| {
            PgError::new("PGRST103", "Requested range not satisfiable")
                .with_details(format!("{what} should be greater than or equal to zero."))
        }),
        Err(_) => Err(PgError::new("PGRST100", format!("\"failed to parse {} ({text})\"", what.to_lowercase()))
            .with_details("expecting a whole number")),
    }
}

/// Decodes a form-encoded text. Invalid UTF-8 is rejected rather than replaced, so that a filter never matches
/// something else than the client sent.
fn decoded(text: &str) -> Result<String, PgError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            // The clients encode parameters as forms (`URLSearchParams`).
            b'+' => b' ',
            b'%' => {
                let mut ahead = rest.clone();
                let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
                match (digit(ahead.next()), digit(ahead.next())) {
                    (Some(high), Some(low)) => {
                        rest = ahead;
                        (high * 16 + low) as u8
                    }
                    // An incomplete escape stays as it is, as in PostgREST.
                    _ => b'%',
                }
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| PgError::new("PGRST100", "the query string is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_official_client_sends() {
        let query = "select=id%2Ctitle&offset=0&limit=10&or=(title.ilike.%25a%2Cb%25,and(id.gt.1,title.is.null))\
                     &id=in.(a,%22b%2Cc%22)&title=not.is.null&title=eq.a+b%";
        // The comma of an unquoted value ends it, as in PostgREST.
        assert_eq!(QueryParameters::parse(RestTable::Sessions, query).unwrap_err().code, "PGRST100");
        let query = query.replace("%25a%2Cb%25", "%25a%25");
        let read = QueryParameters::parse(RestTable::Sessions, &query).unwrap();
        assert_eq!((read.limit, read.offset, read.filters.len()), (Some(10), Some(0), 4));
        assert_eq!(read.select.unwrap().items.len(), 2);
        assert_eq!(read.filters[3], filter::column("title", "eq.a b%").unwrap());
    }

    #[test]
    fn what_cannot_be_read_is_refused_by_its_code() {
        for (query, want) in [
            ("limit=ten", "PGRST100"),
            ("limit=-1", "PGRST103"),
            ("offset=-1", "PGRST103"),
            ("limit=1&limit=2", "PGRST100"),
            ("select=id&select=id", "PGRST100"),
            ("id=%ff", "PGRST100"),
            ("foo", "PGRST100"),
            ("ai_chat_messages.order=id", "PGRST108"),
            ("not.title=eq.a", "PGRST108"),
            ("=eq.a", "PGRST100"),
            ("title(=eq.a", "PGRST100"),
            ("tools->>0=eq.a", "PGRST127"),
        ] {
            assert_eq!(QueryParameters::parse(RestTable::Sessions, query).unwrap_err().code, want, "{query}");
        }
        let quoted = QueryParameters::parse(RestTable::Sessions, "%22title%22=eq.a").unwrap();
        assert_eq!(quoted.filters, [filter::column("title", "eq.a").unwrap()]);
        let many = vec!["title=eq.a"; 101].join("&");
        assert_eq!(QueryParameters::parse(RestTable::Sessions, &many).unwrap_err().code, "PGRST100");
    }
}
