//! Bounds the memory of messages while they are read: of one by its shape, and of all that are read at once by a
//! budget of the process. How long a message may be is bounded before (`ConnectionLimits::message_bytes`).

use domain::json_shape::JsonShape;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::Error;

/// Memory that all messages which are read at one time may take. Further ones wait.
const BUDGET_BYTES: usize = 256 * 1024 * 1024;
/// The unit of the budget. A message below it counts nothing.
const UNIT_BYTES: usize = 1024 * 1024;

static MEMORY_BUDGET: Semaphore = Semaphore::const_new(BUDGET_BYTES / UNIT_BYTES);

/// A part of the budget, held while a message is read.
pub(super) type Admission = Option<SemaphorePermit<'static>>;

/// Refuses a message that would cost too much, and waits until there is memory for it otherwise.
pub(super) async fn admit(message: &str) -> Result<Admission, Error> {
    let shape = JsonShape::measure(message);
    if !shape.is_acceptable() {
        return Err(Error::TooComplex);
    }
    // Each character is held once more than in the message.
    let units = u32::try_from((shape.memory_bytes() + message.len()) / UNIT_BYTES).unwrap_or(u32::MAX);
    if units == 0 {
        return Ok(None);
    }
    // The budget is never closed.
    Ok(MEMORY_BUDGET.acquire_many(units).await.ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn values(count: usize) -> String {
        format!("[{}1]", "{},".repeat(count))
    }

    #[tokio::test]
    async fn a_message_of_too_many_values_is_refused_and_a_long_one_is_not() {
        assert!(matches!(admit(&values(5_000_000)).await, Err(Error::TooComplex)));
        assert!(matches!(admit(&"[".repeat(200)).await, Err(Error::TooComplex)));
        assert!(admit(&format!("\"{}\"", "[{},".repeat(4_000_000))).await.unwrap().is_some());
        assert!(admit(&values(100)).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn large_messages_wait_for_each_other() {
        let large = values(900_000);
        let mut held = Vec::new();
        while let Some(admitted) = admit(&large).now_or_never() {
            held.push(admitted.unwrap());
        }
        assert!((1..=3).contains(&held.len()), "{}", held.len());
        held.pop();
        admit(&large).await.unwrap();
    }
}
