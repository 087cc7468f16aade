//! One question to a server and its answer, in time.

use rmcp::model::{ClientRequest, ServerResult};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::Value;

use crate::Error;
use crate::call::rounds;
use crate::call::suspended::Needs;
use crate::client::explain_request;
use crate::connection::Inner;

/// How often a server may answer with "ask me again".
const ROUNDS: usize = 10;

/// Asks once.
pub(crate) async fn once(connection: &Inner, request: ClientRequest) -> Result<ServerResult, Error> {
    let options = PeerRequestOptions::with_timeout(connection.limits.page);
    let handle = connection.peer.send_request_with_option(request, options).await;
    let handle = handle.map_err(|error| explain_request(&error, &connection.fault))?;
    let fault = connection.fault.of(&handle.id);
    match handle.await_response().await {
        Ok(result) => Ok(result),
        Err(ServiceError::Timeout { timeout }) => Err(Error::Timeout(timeout)),
        Err(error) => Err(explain_request(&error, &fault)),
    }
}

/// Asks, and again with the server's state where it wants that. Gives the answer as JSON.
///
/// A server that first wants to ask the person is refused: only calls of tools bring somebody who can be asked.
pub(crate) async fn answer(
    connection: &Inner,
    request: impl Fn(Option<String>) -> ClientRequest,
) -> Result<Value, Error> {
    let mut state = None;
    for _ in 0..ROUNDS {
        let result = once(connection, request(state.take())).await?;
        match rounds::needs(result)? {
            Ok(Needs::Answers { questions, state: next }) if questions.is_empty() => state = next,
            Ok(_) => {
                return Err(Error::Protocol(
                    "it asks for input first, which is possible in calls of tools only".into(),
                ));
            }
            Err(result) => return json(&result),
        }
    }
    Err(Error::Protocol("it keeps asking to be asked again".to_owned()))
}

/// An answer as JSON, whatever the library took it for.
pub(crate) fn json(result: &ServerResult) -> Result<Value, Error> {
    serde_json::to_value(result).map_err(|_| Error::Protocol("its answer cannot be read".to_owned()))
}
