//! HTTP without a route: connections and their limits, request bodies, extractors, errors, event streams, and the
//! types from which the route table and its OpenAPI document are built.

pub mod body;
pub mod body_limit;
pub mod cors;
pub mod error;
pub mod extract;
pub mod headers;
pub mod host_check;
pub mod openapi;
pub mod request_metrics;
pub mod request_spans;
pub mod response;
pub mod route;
pub mod serve;
pub mod sse;
