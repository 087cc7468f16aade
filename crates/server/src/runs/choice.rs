//! Which model answers, and how it is asked.

use domain::model::{ModelError, ModelSettings};
use domain::{ChatId, UserId};
use store::Store;
use store::model_settings::ModelDefaults;

use super::BeginError;
use crate::app::App;
use crate::models::{ModelId, allowance};

/// The model that the person chose for a chat, or the one that answers where they chose none, if they may ask it now; and
/// how it is asked.
pub async fn model_of(
    app: &App,
    home: &Store,
    owner: UserId,
    chat: ChatId,
) -> Result<(ModelId, ModelSettings), BeginError> {
    let (own, defaults) = choices_of(app, home, owner, chat).await.map_err(BeginError::Store)?;
    let model = match own.model {
        None => app.models.default_of(owner, defaults.model.as_deref()).await?,
        // Another one would read the conversation without having been asked to.
        Some(chosen) => app.models.find(owner, &chosen).await.map_err(BeginError::Store)?.ok_or_else(|| {
            let reason = format!("The model {chosen} of this chat cannot be asked any more. Choose another one.");
            ModelError::Unavailable(reason)
        })?,
    };
    allowance::check(app, owner, &model).await.map_err(ModelError::from)?;
    Ok((model, own.settings.over(defaults.settings)))
}

/// How the model of a chat is asked.
pub async fn settings_of(app: &App, home: &Store, owner: UserId, chat: ChatId) -> Result<ModelSettings, store::Error> {
    let (own, defaults) = choices_of(app, home, owner, chat).await?;
    Ok(own.settings.over(defaults.settings))
}

/// What the person set for a chat, and for all that say nothing else.
async fn choices_of(
    app: &App,
    home: &Store,
    owner: UserId,
    chat: ChatId,
) -> Result<(ModelDefaults, ModelDefaults), store::Error> {
    let (own, defaults) = home.get_choices(owner, chat).await?;
    // A temporary chat's home knows nothing of what holds elsewhere.
    let defaults = if home.is_lasting() { defaults } else { app.store.get_model_defaults(owner).await? };
    Ok((own, defaults))
}

/// Why no turn could begin in a chat now: the model is not there any more, or the person has used what they may.
pub async fn hindrance_of(
    app: &App,
    home: &Store,
    owner: UserId,
    chat: ChatId,
) -> Result<Option<ModelError>, store::Error> {
    match model_of(app, home, owner, chat).await {
        Err(BeginError::Model(error)) => Ok(Some(error)),
        Err(BeginError::Store(error)) => Err(error),
        Ok(_) | Err(_) => Ok(None),
    }
}
