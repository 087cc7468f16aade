//! The configured models that a user may use, by the rules of `CHAT_MODEL_ACCESS`.

use domain::UserId;
use domain::model::{AccessAttributes, AllowedModels, ModelError, ModelRules};
use storage::Storage;

use super::ModelId;
use super::user_providers::is_user_provider;

/// Access of users to the configured models.
#[derive(Debug, Clone)]
pub struct ModelAccess {
    storage: Storage,
    /// `None`: all users may use all models.
    rules: Option<ModelRules>,
}

impl ModelAccess {
    /// Creates the access from the settings.
    pub fn new(storage: Storage, rules: Option<ModelRules>) -> Self {
        Self { storage, rules }
    }

    /// Returns the configured models that a user may use.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn allowed(&self, user: UserId) -> Result<AllowedModels, storage::Error> {
        let Some(rules) = &self.rules else { return Ok(AllowedModels::ALL) };
        let Some(account) = self.storage.users().get(user).await? else {
            return Ok(rules.allowed(&AccessAttributes::default()));
        };
        let domain = account.proven_domain().map(str::to_owned);
        let groups = account.identities.iter().flat_map(storage::identities::Identity::groups);
        Ok(rules.allowed(&AccessAttributes { domain, groups: groups.map(str::to_owned).collect() }))
    }

    /// Returns whether a user may use a model. Those of their own providers they always may.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub async fn allows(&self, user: UserId, model: &ModelId) -> Result<bool, storage::Error> {
        // Without rules, the name is not composed for each call.
        if self.rules.is_none() || is_user_provider(&model.provider) {
            return Ok(true);
        }
        Ok(self.allowed(user).await?.contains(&model.to_string()))
    }

    /// Checks that a user may use a model, before each call: a turn may go on after the rules or the user's groups have
    /// changed.
    ///
    /// # Errors
    ///
    /// [`ModelError::Unavailable`] if the user may not use it, or the database fails.
    pub async fn check(&self, user: UserId, model: &ModelId) -> Result<(), ModelError> {
        match self.allows(user, model).await {
            Ok(true) => Ok(()),
            Ok(false) => {
                Err(ModelError::Unavailable(format!("You may not use the model {model}. Choose another one.")))
            }
            Err(error) => Err(database_failed(&error)),
        }
    }
}

/// Logs a database error and returns what the user sees.
pub(super) fn database_failed(error: &storage::Error) -> ModelError {
    tracing::error!(%error, "failed to read which models a user may use, or how much");
    ModelError::Unavailable("The database could not be read. Try again in a moment.".into())
}
