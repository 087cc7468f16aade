//! Filters: the part of the statement builder that reads the client's literals.

use crate::ast::{ColumnCondition, ComparisonOperator, IsOperand, RowFilter};
use crate::like_pattern::LikePattern;
use crate::pg_error::PgError;
use crate::statement::Statement;
use crate::table::{ColumnType, RestTable, TableColumn};
use crate::value::parse_literal;
use storage::raw::SqlDialect;
use storage::raw::SqlValue;

impl Statement {
    /// Appends a column as the left side of a comparison, with the collation by bytes that SQLite uses by default.
    pub(crate) fn comparable(&mut self, column: &TableColumn) {
        self.push(column.name);
        if column.column_type == ColumnType::Text && self.dialect == SqlDialect::Postgres {
            self.push(" COLLATE \"C\"");
        }
    }

    pub(crate) fn filter(&mut self, table: RestTable, filter: &RowFilter) -> Result<(), PgError> {
        match filter {
            RowFilter::All(parts) => self.joined(table, parts, " AND ", "1 = 1"),
            RowFilter::Any(parts) => self.joined(table, parts, " OR ", "1 = 0"),
            RowFilter::Not(part) => {
                self.push("NOT (");
                self.filter(table, part)?;
                self.push(")");
                Ok(())
            }
            RowFilter::Column(name, test) => self.test(table.readable(name)?, test),
        }
    }

    fn joined(
        &mut self,
        table: RestTable,
        parts: &[RowFilter],
        joint: &'static str,
        none: &'static str,
    ) -> Result<(), PgError> {
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

    fn test(&mut self, column: &'static TableColumn, test: &ColumnCondition) -> Result<(), PgError> {
        match test {
            ColumnCondition::Compare(comparison, literal) => {
                // PostgreSQL's type `json` has no equality, so every comparison of it is an error there.
                if column.column_type == ColumnType::JsonList {
                    return Err(PgError::missing_operator(column.column_type, comparison.operator()));
                }
                let value = parse_literal(column.column_type, literal)?;
                self.comparable(column);
                self.push(comparison.sql());
                self.bind(value);
            }
            ColumnCondition::Like(pattern) => self.like(column, pattern, false)?,
            ColumnCondition::ILike(pattern) => self.like(column, pattern, true)?,
            ColumnCondition::In(literals) => {
                if column.column_type == ColumnType::JsonList {
                    return Err(PgError::missing_operator(column.column_type, "="));
                }
                let values = literals
                    .iter()
                    .map(|text| parse_literal(column.column_type, text))
                    .collect::<Result<Vec<_>, _>>()?;
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
            ColumnCondition::Is(IsOperand::Null) => {
                self.push(column.name);
                self.push(" IS NULL");
            }
            ColumnCondition::Is(IsOperand::NotNull) => {
                self.push(column.name);
                self.push(" IS NOT NULL");
            }
            ColumnCondition::Is(IsOperand::Boolean(word)) => {
                let column_type = column.column_type.sql_name();
                let message = format!("argument of IS {word} must be type boolean, not type {column_type}");
                return Err(PgError::new("42804", message));
            }
        }
        Ok(())
    }

    fn like(&mut self, column: &'static TableColumn, text: &str, ignore_case: bool) -> Result<(), PgError> {
        if column.column_type != ColumnType::Text {
            let operator = if ignore_case { "~~*" } else { "~~" };
            return Err(PgError::missing_operator(column.column_type, operator));
        }
        // Validated as a literal, too, so that text which no database can hold is rejected by every operator.
        parse_literal(column.column_type, text)?;
        let pattern = LikePattern::parse(text, ignore_case)?;
        let (operator, right) = match self.dialect {
            SqlDialect::Sqlite => pattern.for_sqlite(),
            SqlDialect::Postgres => pattern.for_postgres(),
        };
        self.comparable(column);
        self.push(" ");
        self.push(operator);
        self.push(" ");
        self.bind(SqlValue::Text(Some(right)));
        Ok(())
    }
}

impl ComparisonOperator {
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
