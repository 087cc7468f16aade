//! Settings for models: per chat (`chat_settings`), and the user's defaults for all other chats (`model_defaults`).

use domain::model::ModelSettings;
use domain::text::without_nul;
use domain::{ChatId, UserId};

use crate::db_macros::{read, write};
use crate::{Error, ModelChoiceRepository};

/// A model and its settings, selected for a chat or as the default.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelDefaults {
    /// Model, as `provider/name`; `None` if none is selected.
    pub model: Option<String>,
    /// Parameters of the model.
    pub settings: ModelSettings,
}

const GET: &str = "SELECT k.settings FROM chat_settings k
    JOIN existing_chats s ON s.id = k.session_id AND s.user_id = k.user_id
    WHERE k.user_id = $1 AND k.session_id = $2";

/// Selects the choices for a chat and the defaults in one query.
const GET_CHOICES: &str =
    // Starts from the user, so that the defaults are found even without a choice for the chat.
    "SELECT k.model, k.settings, d.model AS default_model, d.settings AS default_settings FROM users u
    LEFT JOIN existing_chats s ON s.user_id = u.id AND s.id = $2
    LEFT JOIN chat_settings k ON k.user_id = u.id AND k.session_id = s.id
    LEFT JOIN model_defaults d ON d.user_id = u.id
    WHERE u.id = $1";

// The row also holds the chat's marks and model, which stay unchanged.
pub(crate) const SET: &str = "INSERT INTO chat_settings (user_id, session_id, settings)
    SELECT user_id, id, $3 FROM existing_chats WHERE user_id = $1 AND id = $2
    ON CONFLICT (user_id, session_id) DO UPDATE SET settings = excluded.settings";

const GET_DEFAULTS: &str = "SELECT model, settings FROM model_defaults WHERE user_id = $1";

const SET_DEFAULTS: &str = "INSERT INTO model_defaults (user_id, model, settings, propose_titles)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (user_id) DO UPDATE SET model = excluded.model, settings = excluded.settings,
      propose_titles = excluded.propose_titles";

const PROPOSES_TITLES: &str = "SELECT propose_titles FROM model_defaults WHERE user_id = $1";

#[derive(Default, sqlx::FromRow)]
struct ChoicesRow {
    model: Option<String>,
    settings: Option<String>,
    default_model: Option<String>,
    default_settings: Option<String>,
}

/// Returns the settings as stored JSON, or `None` if they are all unset.
pub(crate) fn json_of(settings: &ModelSettings) -> Result<Option<String>, Error> {
    if *settings == ModelSettings::default() {
        return Ok(None);
    }
    let clean = ModelSettings { system: settings.system.clone().map(without_nul), ..settings.clone() };
    serde_json::to_string(&clean).map(Some).map_err(|error| Error::Corrupt(error.to_string()))
}

pub(crate) fn settings_of(json: &str) -> Result<ModelSettings, Error> {
    serde_json::from_str(json).map_err(|error| Error::Corrupt(format!("settings of models: {error}")))
}

impl ModelChoiceRepository<'_> {
    /// Returns the settings of a chat.
    pub async fn get_chat_settings(self, owner: UserId, chat: ChatId) -> Result<ModelSettings, Error> {
        let row: Option<Option<String>> =
            read!(self.storage, |c| sqlx::query_scalar(GET).bind(owner.0).bind(chat.0).fetch_optional(c).await)?;
        row.flatten().map_or_else(|| Ok(ModelSettings::default()), |json| settings_of(&json))
    }

    /// Returns the choices for a chat, and the user's defaults.
    pub async fn get_choices(self, owner: UserId, chat: ChatId) -> Result<(ModelDefaults, ModelDefaults), Error> {
        let row: Option<ChoicesRow> =
            read!(self.storage, |c| sqlx::query_as(GET_CHOICES).bind(owner.0).bind(chat.0).fetch_optional(c).await)?;
        let choice = |model: Option<String>, json: Option<String>| -> Result<ModelDefaults, Error> {
            let settings = json.map_or_else(|| Ok(ModelSettings::default()), |json| settings_of(&json))?;
            Ok(ModelDefaults { model, settings })
        };
        let row = row.unwrap_or_default();
        Ok((choice(row.model, row.settings)?, choice(row.default_model, row.default_settings)?))
    }

    /// Stores the settings of a chat.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if the chat does not belong to the owner.
    pub async fn set_chat_settings(self, owner: UserId, chat: ChatId, settings: &ModelSettings) -> Result<(), Error> {
        let json = json_of(settings)?;
        let set = write!(self.storage, |c| sqlx::query(SET)
            .bind(owner.0)
            .bind(chat.0)
            .bind(&json)
            .execute(c)
            .await
            .map(|done| done.rows_affected()))?;
        if set == 0 { Err(Error::NotFound) } else { Ok(()) }
    }

    /// Returns the user's defaults.
    pub async fn get_defaults(self, owner: UserId) -> Result<ModelDefaults, Error> {
        let row: Option<(Option<String>, String)> =
            read!(self.storage, |c| sqlx::query_as(GET_DEFAULTS).bind(owner.0).fetch_optional(c).await)?;
        let Some((model, json)) = row else { return Ok(ModelDefaults::default()) };
        Ok(ModelDefaults { model, settings: settings_of(&json)? })
    }

    /// Returns whether models propose the titles of the user's chats.
    pub async fn proposes_titles(self, owner: UserId) -> Result<bool, Error> {
        let row: Option<bool> =
            read!(self.storage, |c| sqlx::query_scalar(PROPOSES_TITLES).bind(owner.0).fetch_optional(c).await)?;
        Ok(row.unwrap_or_default())
    }

    /// Stores the user's defaults, and whether models propose the titles of their chats.
    pub async fn set_defaults(
        self,
        owner: UserId,
        defaults: &ModelDefaults,
        propose_titles: bool,
    ) -> Result<(), Error> {
        let json = json_of(&defaults.settings)?.unwrap_or_else(|| "{}".to_owned());
        write!(self.storage, |c| sqlx::query(SET_DEFAULTS)
            .bind(owner.0)
            .bind(&defaults.model)
            .bind(&json)
            .bind(propose_titles)
            .execute(c)
            .await
            .map(|_| ()))?;
        Ok(())
    }
}
