//! Parsing of the query string.

use store::rest::ast::{Filter, Order, Select};
use store::rest::{Fault, Table};

use super::{filter, select};

/// Maximum number of comparisons in a request.
const MAX_COMPARISONS: usize = 100;

/// Parsed query parameters.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    pub(super) select: Option<Select>,
    pub(super) filters: Vec<Filter>,
    pub(super) order: Option<Vec<Order>>,
    pub(super) limit: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) columns: Option<Vec<String>>,
    pub(super) on_conflict: Option<Vec<String>>,
}

impl Parameters {
    pub(super) fn parse(table: Table, query: &str) -> Result<Self, Fault> {
        let mut parameters = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (decoded(key)?, decoded(value)?);
            parameters.take(table, &key, &value)?;
        }
        if parameters.filters.iter().map(filter::size).sum::<usize>() > MAX_COMPARISONS {
            return Err(Fault::new("PGRST100", "a request makes at most 100 comparisons"));
        }
        Ok(parameters)
    }

    fn take(&mut self, table: Table, key: &str, value: &str) -> Result<(), Fault> {
        match key {
            "select" => once(key, &mut self.select, select::select(table, value)?),
            "order" => once(key, &mut self.order, select::order(value)?),
            "limit" => once(key, &mut self.limit, number("Limit", value)?),
            "offset" => once(key, &mut self.offset, number("Offset", value)?),
            "columns" => once(key, &mut self.columns, select::names("columns parameter", value)?),
            "on_conflict" => once(key, &mut self.on_conflict, select::names("on_conflict parameter", value)?),
            "and" | "or" | "not.and" | "not.or" => {
                self.filters.push(filter::logic(key, value)?);
                Ok(())
            }
            _ => {
                let (column, embedded) = select::path(key)?;
                if embedded {
                    return Err(select::not_embedded(&column));
                }
                self.filters.push(filter::column(&column, value)?);
                Ok(())
            }
        }
    }
}

/// Stores a parameter, and rejects a repeated one.
fn once<T>(key: &str, slot: &mut Option<T>, value: T) -> Result<(), Fault> {
    if slot.replace(value).is_some() {
        return Err(Fault::new("PGRST100", format!("\"{key}\" is given twice")));
    }
    Ok(())
}

/// Parses a number of rows.
fn number(what: &str, text: &str) -> Result<u64, Fault> {
    // Negative numbers have an error of their own in PostgREST.
    match text.parse::<i64>() {
        Ok(number) => u64::try_from(number).map_err(|_| {
            Fault::new("PGRST103", "Requested range not satisfiable")
                .details(format!("{what} should be greater than or equal to zero."))
        }),
        Err(_) => Err(Fault::new("PGRST100", format!("\"failed to parse {} ({text})\"", what.to_lowercase()))
            .details("expecting a whole number")),
    }
}

/// Decodes a form-encoded text. Invalid UTF-8 is rejected rather than replaced, so that a filter never matches
/// something else than the client sent.
fn decoded(text: &str) -> Result<String, Fault> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
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
    String::from_utf8(bytes).map_err(|_| Fault::new("PGRST100", "the query string is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_official_client_sends() {
        let query = "select=id%2Ctitle&offset=0&limit=10&or=(title.ilike.%25a%2Cb%25,and(id.gt.1,title.is.null))\
                     &id=in.(a,%22b%2Cc%22)&title=not.is.null&title=eq.a+b%";
        // The comma of an unquoted value ends it, as in PostgREST.
        assert_eq!(Parameters::parse(Table::Sessions, query).unwrap_err().code, "PGRST100");
        let query = query.replace("%25a%2Cb%25", "%25a%25");
        let read = Parameters::parse(Table::Sessions, &query).unwrap();
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
            assert_eq!(Parameters::parse(Table::Sessions, query).unwrap_err().code, want, "{query}");
        }
        let quoted = Parameters::parse(Table::Sessions, "%22title%22=eq.a").unwrap();
        assert_eq!(quoted.filters, [filter::column("title", "eq.a").unwrap()]);
        let many = vec!["title=eq.a"; 101].join("&");
        assert_eq!(Parameters::parse(Table::Sessions, &many).unwrap_err().code, "PGRST100");
    }
}
