//! Parsing of JSON-RPC messages.

use serde_json::{Map, Value};

use super::refusal::RpcError;

/// A message of a client.
#[derive(Debug)]
pub enum Message {
    /// A request, which needs a response.
    Request(JsonRpcRequest),
    /// A notification. It is acknowledged and ignored, since no notification changes the state of a stateless server.
    Notification,
}

/// A JSON-RPC request.
#[derive(Debug)]
pub struct JsonRpcRequest {
    /// A string or an integer, returned unchanged in the response.
    pub id: Value,
    pub method: String,
    pub params: Map<String, Value>,
}

impl Message {
    /// Parses a message.
    ///
    /// # Errors
    ///
    /// The body is not a single, valid JSON-RPC request or notification.
    pub fn read(body: &[u8]) -> Result<Self, RpcError> {
        let message = serde_json::from_slice(body).map_err(|error| RpcError::not_json(&error))?;
        // Only revision 2025-03-26 has batches; later ones have removed them.
        let Value::Object(mut message) = message else {
            return Err(RpcError::invalid_request("a message is one JSON object; batches are not taken"));
        };
        let id = message.remove("id");
        // A null id would be a notification in older JSON-RPC, which MCP forbids.
        let is_id = match &id {
            None | Some(Value::String(_)) => true,
            Some(Value::Number(number)) => number.is_i64() || number.is_u64(),
            Some(_) => false,
        };
        if !is_id {
            return Err(RpcError::invalid_request("an id is a text or an integer"));
        }
        // Errors refer to the request where its id is known.
        let refused = |why| match &id {
            Some(id) => RpcError::invalid_request(why).about(id.clone()),
            None => RpcError::invalid_request(why),
        };
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(refused("jsonrpc must be \"2.0\""));
        }
        let Some(Value::String(method)) = message.remove("method") else {
            return Err(refused("the message has no method; responses are not accepted"));
        };
        let params = match message.remove("params") {
            None => Map::new(),
            Some(Value::Object(params)) => params,
            Some(_) => return Err(refused("params must be an object")),
        };
        Ok(match id {
            Some(id) => Self::Request(JsonRpcRequest { id, method, params }),
            None => Self::Notification,
        })
    }
}
