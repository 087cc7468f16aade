//! What handlers say of themselves in an OpenAPI document.

mod operation;
mod schemas;

pub use operation::{Operation, OperationHandler, OperationInput, OperationOutput};
pub use schemas::SchemaRegistry;
