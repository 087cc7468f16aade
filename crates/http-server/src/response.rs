//! Response types that several resources share.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;

use crate::openapi::{Operation, OperationOutput};

/// A JSON response with the status 201.
#[derive(Debug)]
pub struct Created<T>(pub T);

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (StatusCode::CREATED, Json(self.0)).into_response()
    }
}

impl<T: JsonSchema> OperationOutput for Created<T> {
    fn describe(operation: &mut Operation<'_>) {
        operation.add_json::<T>(StatusCode::CREATED);
    }
}

/// One of two responses.
#[derive(Debug)]
pub enum Either<A, B> {
    /// The first.
    A(A),
    /// The second.
    B(B),
}

impl<A: IntoResponse, B: IntoResponse> IntoResponse for Either<A, B> {
    fn into_response(self) -> Response {
        match self {
            Self::A(response) => response.into_response(),
            Self::B(response) => response.into_response(),
        }
    }
}

impl<A: OperationOutput, B: OperationOutput> OperationOutput for Either<A, B> {
    fn describe(operation: &mut Operation<'_>) {
        A::describe(operation);
        B::describe(operation);
    }
}

/// Number of things that were deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub struct DeletedCount {
    /// How many there were.
    pub ended: u64,
}
