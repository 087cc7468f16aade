//! Infrastructure that every service needs: encryption of secrets, background tasks, logging.

pub mod background_tasks;
pub mod logging;
pub mod secret_sealing;

pub use background_tasks::BackgroundTasks;
pub use secret_sealing::SecretSealer;
