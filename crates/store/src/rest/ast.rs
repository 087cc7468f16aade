//! A request as it was parsed: names and literals are still the caller's words. The builder checks every one of them.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// A list of what to return; `None` in `columns` means all of the table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Select {
    /// The items, in order. Empty: nothing was asked for, which means `*`.
    pub items: Vec<Item>,
}

/// One item of a select list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// `*`.
    All,
    /// `column` or `alias:column`.
    Column {
        /// The column.
        name: String,
        /// What to call it in the answer.
        alias: Option<String>,
    },
}

/// A condition on rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Each holds. An empty one always holds.
    All(Vec<Self>),
    /// At least one holds.
    Any(Vec<Self>),
    /// It does not hold (and is not unknown).
    Not(Box<Self>),
    /// A column compared.
    Test(String, Test),
}

/// A comparison of a column. The literals are text; the column's type says how they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Test {
    /// `eq`, `neq`, `gt`, `gte`, `lt`, `lte`, `isdistinct`.
    Compare(Comparison, String),
    /// `like`, with `%` and `_`.
    Like(String),
    /// `ilike`: the same, and letters match whatever their case.
    ILike(String),
    /// `in`.
    In(Vec<String>),
    /// `is`.
    Is(Is),
}

/// How two values are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
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

/// What `is` asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Is {
    /// Null.
    Null,
    /// Not null.
    NotNull,
    /// True, false or unknown: only a boolean column could be, and there is none.
    Boolean(&'static str),
}

/// One term of an order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The column.
    pub column: String,
    /// From large to small.
    pub descending: bool,
    /// Where nulls go; `None`: as if they were larger than everything.
    pub nulls_first: Option<bool>,
}

/// A question.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// What to return.
    pub select: Select,
    /// Which rows; all of them must hold.
    pub filters: Vec<Filter>,
    /// In which order. Equal rows follow by time of creation and id.
    pub order: Vec<Order>,
    /// How many rows at most; never more than [`super::MAX_ROWS`].
    pub limit: Option<u64>,
    /// How many rows to leave out before.
    pub offset: u64,
    /// Whether to count all rows that pass the filters.
    pub count: bool,
}

/// One object of a body. The values stay text, so that numbers and the order of keys are kept as they came.
pub type Record = BTreeMap<String, Box<RawValue>>;

/// What to write.
#[derive(Debug, Default)]
pub struct Body {
    /// The objects.
    pub records: Vec<Record>,
    /// The columns to write, when the request names them; otherwise the keys of the objects, which must be the same.
    pub columns: Option<Vec<String>>,
    /// What a key that is missing stands for: the column's default, or null.
    pub missing_is_default: bool,
}

/// What an insert does when a row of the same key exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OnConflict {
    /// It fails.
    #[default]
    Fail,
    /// It leaves the row as it is. The columns name the key; none: the primary key.
    Ignore(Vec<String>),
    /// It writes the given columns into the row.
    Merge(Vec<String>),
}

/// How a write is answered, and what must hold for it to stay.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The rows as written (or, when deleted, as they were); `None`: only how many.
    pub select: Option<Select>,
    /// In which order they are returned.
    pub order: Vec<Order>,
    /// Undone unless it reached exactly one row.
    pub single: bool,
    /// Undone when it reached more rows.
    pub max_affected: Option<u64>,
}
