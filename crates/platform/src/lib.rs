//! Infrastructure that every service needs: encryption of secrets, background tasks, logging, and the client addresses and
//! the clock that limits count by.

pub mod background_tasks;
pub mod client_address;
pub mod logging;
pub mod monotonic_clock;
pub mod secret_sealing;
pub mod url_host;

pub use background_tasks::BackgroundTasks;
pub use monotonic_clock::MonotonicClock;
pub use secret_sealing::SecretSealer;
