//! Filters: the part of the statement builder that reads the client's literals.

use super::ast::{Comparison, Filter, Is, Test};
use super::cell::Cell;
use super::fault::Fault;
use super::pattern::Pattern;
use super::statement::{Dialect, Statement};
use super::table::{Column, Kind, Table};

impl Statement {
    /// Appends a column as the left side of a comparison, with the collation by bytes that SQLite uses by default.
    pub(super) fn comparable(&mut self, column: &Column) {
        self.push(column.name);
        if column.kind == Kind::Text && self.dialect == Dialect::Postgres {
            self.push(" COLLATE \"C\"");
        }
    }

    pub(super) fn filter(&mut self, table: Table, filter: &Filter) -> Result<(), Fault> {
        match filter {
            Filter::All(parts) => self.joined(table, parts, " AND ", "1 = 1"),
            Filter::Any(parts) => self.joined(table, parts, " OR ", "1 = 0"),
            Filter::Not(part) => {
                self.push("NOT (");
                self.filter(table, part)?;
                self.push(")");
                Ok(())
            }
            Filter::Test(name, test) => self.test(table.readable(name)?, test),
        }
    }

    fn joined(&mut self, table: Table, parts: &[Filter], joint: &'static str, none: &'static str) -> Result<(), Fault> {
        if parts.is_empty() {
            self.push(none);
            return Ok(());
        }
        self.push("(");
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                self.push(joint);
            }
            self.filter(table, part)?;
        }
        self.push(")");
        Ok(())
    }

    fn test(&mut self, column: &'static Column, test: &Test) -> Result<(), Fault> {
        match test {
            Test::Compare(comparison, literal) => {
                if column.kind == Kind::JsonList {
                    return Err(Fault::no_operator(column.kind, comparison.operator()));
                }
                let value = Cell::from_literal(column.kind, literal)?;
                self.comparable(column);
                self.push(comparison.sql());
                self.bind(value);
            }
            Test::Like(pattern) => self.like(column, pattern, false)?,
            Test::ILike(pattern) => self.like(column, pattern, true)?,
            Test::In(literals) => {
                if column.kind == Kind::JsonList {
                    return Err(Fault::no_operator(column.kind, "="));
                }
                let values =
                    literals.iter().map(|text| Cell::from_literal(column.kind, text)).collect::<Result<Vec<_>, _>>()?;
                // PostgreSQL has no empty `IN` list.
                if values.is_empty() {
                    self.push("1 = 0");
                    return Ok(());
                }
                self.push(column.name);
                self.push(" IN (");
                for (index, value) in values.into_iter().enumerate() {
                    if index > 0 {
                        self.push(", ");
                    }
                    self.bind(value);
                }
                self.push(")");
            }
            Test::Is(Is::Null) => {
                self.push(column.name);
                self.push(" IS NULL");
            }
            Test::Is(Is::NotNull) => {
                self.push(column.name);
                self.push(" IS NOT NULL");
            }
            Test::Is(Is::Boolean(word)) => {
                let kind = column.kind.sql_name();
                let message = format!("argument of IS {word} must be type boolean, not type {kind}");
                return Err(Fault::new("42804", message));
            }
        }
        Ok(())
    }

    fn like(&mut self, column: &'static Column, text: &str, ignore_case: bool) -> Result<(), Fault> {
        if column.kind != Kind::Text {
            let operator = if ignore_case { "~~*" } else { "~~" };
            return Err(Fault::no_operator(column.kind, operator));
        }
        // Validated as a literal, too, so that text which no database can hold is rejected by every operator.
        Cell::from_literal(column.kind, text)?;
        let pattern = Pattern::parse(text, ignore_case)?;
        let (operator, right) = match self.dialect {
            Dialect::Sqlite => pattern.for_sqlite(),
            Dialect::Postgres => pattern.for_postgres(),
        };
        self.comparable(column);
        self.push(" ");
        self.push(operator);
        self.push(" ");
        self.bind(Cell::Text(Some(right)));
        Ok(())
    }
}

impl Comparison {
    /// Returns the operator that PostgreSQL names in its error message.
    fn operator(self) -> &'static str {
        match self {
            Self::Distinct => "=",
            other => other.sql().trim(),
        }
    }

    fn sql(self) -> &'static str {
        match self {
            Self::Equal => " = ",
            Self::NotEqual => " <> ",
            Self::Greater => " > ",
            Self::GreaterOrEqual => " >= ",
            Self::Less => " < ",
            Self::LessOrEqual => " <= ",
            Self::Distinct => " IS DISTINCT FROM ",
        }
    }
}
