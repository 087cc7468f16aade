//! Syntax tree of a request. Names and literals are still unchecked text from the client; the builder checks each of
//! them.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// A `select` list of columns, see [`SelectItem`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SelectList {
    /// Items in order. An empty list means `*`.
    pub items: Vec<SelectItem>,
}

/// An item of a `select` list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SelectItem {
    /// `*`.
    All,
    /// `column` or `alias:column`.
    Column {
        /// Name of the column.
        name: String,
        /// Name in the response.
        alias: Option<String>,
    },
}

/// A condition on rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowFilter {
    /// All conditions hold. An empty list always holds.
    All(Vec<Self>),
    /// At least one condition holds. An empty list never holds.
    Any(Vec<Self>),
    /// The condition is false. A condition that is unknown because of a null does not count.
    Not(Box<Self>),
    /// A comparison of a column.
    Column(String, ColumnCondition),
}

/// A comparison with literals. They are text; the type of the column determines how they are parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnCondition {
    /// `eq`, `neq`, `gt`, `gte`, `lt`, `lte` or `isdistinct`.
    Compare(ComparisonOperator, String),
    /// `like`, with the wildcards `%` and `_`.
    Like(String),
    /// `ilike`: like [`Self::Like`] but case-insensitive.
    ILike(String),
    /// `in`.
    In(Vec<String>),
    /// `is`.
    Is(IsOperand),
}

/// A comparison operator, see [`ColumnCondition::Compare`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonOperator {
    /// `=`.
    Equal,
    /// `<>`.
    NotEqual,
    /// `>`.
    Greater,
    /// `>=`.
    GreaterOrEqual,
    /// `<`.
    Less,
    /// `<=`.
    LessOrEqual,
    /// `IS DISTINCT FROM`.
    Distinct,
}

/// The right side of [`ColumnCondition::Is`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IsOperand {
    /// `null`.
    Null,
    /// `not_null`.
    NotNull,
    /// `true`, `false` or `unknown`. These require a boolean column, and there is none.
    Boolean(&'static str),
}

/// A term of [`RowQuery::order`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrderTerm {
    /// Name of the column.
    pub column: String,
    /// Whether the order is descending.
    pub descending: bool,
    /// Whether nulls come first; `None` treats them as larger than all values.
    pub nulls_first: Option<bool>,
}

/// A read request, the input of [`read_rows`](crate::read_rows).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowQuery {
    /// Columns to return.
    pub select: SelectList,
    /// Conditions, all of which must hold.
    pub filters: Vec<RowFilter>,
    /// Order. Equal rows are ordered by time of creation and id.
    pub order: Vec<OrderTerm>,
    /// Maximum number of rows; never more than [`crate::MAX_ROWS`].
    pub limit: Option<u64>,
    /// Number of rows to skip.
    pub offset: u64,
    /// Whether to count all rows that match the filters.
    pub count: bool,
}

/// An object of a request body. Values stay unparsed, so that numbers and the order of keys are preserved.
pub type RowObject = BTreeMap<String, Box<RawValue>>;

/// A request body with rows to write. Each [`RowObject`] is a row.
#[derive(Debug, Default)]
pub struct WriteBody {
    /// Objects.
    pub records: Vec<RowObject>,
    /// Columns to write, if the request names them. Otherwise, the keys of the objects, which must all be the same.
    pub columns: Option<Vec<String>>,
    /// Whether a missing key means the column's default instead of null.
    pub missing_is_default: bool,
}

/// The behavior of an insert if a row with the same key exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// The insert fails.
    #[default]
    Fail,
    /// The existing row stays unchanged. The columns name the key; none means the primary key.
    Ignore(Vec<String>),
    /// The given columns are written to the existing row. The columns name the key; none means the primary key.
    Merge(Vec<String>),
}

/// The response to a write, and conditions under which it is rolled back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Columns to return: of the rows as written or, for a delete, as they were. `None` returns only the ids.
    pub select: Option<SelectList>,
    /// Order of the returned rows.
    pub order: Vec<OrderTerm>,
    /// Rolls back unless exactly one row is affected.
    pub single: bool,
    /// Rolls back if more rows are affected.
    pub max_affected: Option<u64>,
}
