//! JSON in TEXT columns, in the same way on both databases.

use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::encode::IsNull;
use sqlx::error::BoxDynError;
use sqlx::{Database, Decode, Encode, Type};

/// A value that is stored as JSON text. The `Json` type of sqlx would use `jsonb` on PostgreSQL, which rejects `\u0000`
/// and reorders keys.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JsonText<T>(pub T);

impl<DB: Database, T> Type<DB> for JsonText<T>
where
    String: Type<DB>,
{
    fn type_info() -> DB::TypeInfo {
        String::type_info()
    }

    fn compatible(ty: &DB::TypeInfo) -> bool {
        String::compatible(ty)
    }
}

impl<'r, DB: Database, T: DeserializeOwned> Decode<'r, DB> for JsonText<T>
where
    &'r str: Decode<'r, DB>,
{
    fn decode(value: DB::ValueRef<'r>) -> Result<Self, BoxDynError> {
        Ok(Self(serde_json::from_str(<&str>::decode(value)?)?))
    }
}

impl<'q, DB: Database, T: Serialize> Encode<'q, DB> for JsonText<T>
where
    String: Encode<'q, DB>,
{
    fn encode_by_ref(&self, buffer: &mut DB::ArgumentBuffer) -> Result<IsNull, BoxDynError> {
        serde_json::to_string(&self.0)?.encode_by_ref(buffer)
    }
}
