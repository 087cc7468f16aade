//! Transcription of dictated messages by a model of an OpenAI-compatible provider.

use domain::UserId;
use domain::model::{ModelError, Usage};
use llm::transcription::{TranscribedText, is_supported};
use platform::config::Config;
use storage::usage::Cost;

use super::quota::ExpectedUse;
use super::usage_recording::estimate_tokens;
use super::user_providers::is_user_provider;
use super::{ModelId, ModelService, no_model};

pub use llm::transcription::{AudioFormat, Recording};

/// Model that transcribes.
#[derive(Debug, Clone)]
pub(super) enum TranscriptionModel {
    /// The first one that a provider offers.
    Offered,
    /// The model that `CHAT_TRANSCRIPTION_MODEL` names.
    Chosen(ModelId),
    /// None.
    Off,
}

impl TranscriptionModel {
    /// Reads the model from the configuration.
    ///
    /// # Errors
    ///
    /// Fails if it names a provider that is not configured or has no transcriptions.
    pub fn new(config: &Config) -> anyhow::Result<Self> {
        let text = match config.transcription_model.as_deref() {
            None => return Ok(Self::Offered),
            Some("off") => return Ok(Self::Off),
            Some(text) => text,
        };
        let Some(model) = ModelId::parse(text) else {
            anyhow::bail!("CHAT_TRANSCRIPTION_MODEL must look like provider/name or be off, not {text:?}");
        };
        if !config.providers.iter().any(|provider| provider.name == model.provider && is_supported(provider.api)) {
            anyhow::bail!(
                "CHAT_TRANSCRIPTION_MODEL names the provider {:?}, which is not configured or has no transcriptions",
                model.provider
            );
        }
        Ok(Self::Chosen(model))
    }
}

/// Approximate number of bytes of a recording per token: OpenAI counts ten tokens a second, and browsers record at 128 kbit/s.
const BYTES_PER_AUDIO_TOKEN: u64 = 1_600;
/// Maximum number of tokens of a transcript: what OpenAI's models write at most.
const MAX_TRANSCRIPT_TOKENS: u64 = 2_000;

/// Parts of the names of models that transcribe, the most suitable first. Providers list all of their models under one
/// type.
const NAME_PARTS: [&str; 3] = ["mini-transcribe", "transcribe", "whisper"];
/// Parts of the names of models that need another request.
const OTHER_NAME_PARTS: [&str; 2] = ["diarize", "realtime"];

impl ModelService {
    /// Returns the model that transcribes what a user dictates: the configured one, or else one that a configured
    /// provider offers, or else one of the user's own providers. `None` if there is none that the user may use.
    pub async fn transcription_model(&self, owner: UserId) -> Option<ModelId> {
        let allowed = self.access.allowed(owner).await.ok()?;
        let is_allowed = |model: &ModelId| allowed.contains(&model.to_string());
        match &self.transcription {
            TranscriptionModel::Off => return None,
            TranscriptionModel::Chosen(model) => return Some(model.clone()).filter(is_allowed),
            TranscriptionModel::Offered => {}
        }
        for listing in self.providers.iter().filter(|listing| is_supported(listing.provider.api)) {
            let names = listing.names(&self.client).await.unwrap_or_default();
            let names: Vec<String> =
                names.into_iter().filter(|name| is_allowed(&ModelId::new(&listing.provider.name, name))).collect();
            if let Some(name) = choose(&names) {
                return Some(ModelId::new(&listing.provider.name, name));
            }
        }
        let own = self.user_providers.list(owner).await.unwrap_or_default();
        own.iter().find_map(|listed| {
            listed.provider.as_ref().filter(|open| is_supported(open.listing.provider.api))?;
            Some(ModelId::new(&listed.slug, choose(listed.names.as_ref().ok()?)?))
        })
    }

    /// Transcribes a recording, which is not stored. It counts as usage: what the provider reports, or an estimate.
    ///
    /// # Errors
    ///
    /// [`ModelError::Unavailable`] if the user may not use the model, [`ModelError::QuotaExceeded`] if their quota is used
    /// up, else the error of the provider.
    pub async fn transcribe(
        &self,
        owner: UserId,
        model: &ModelId,
        recording: &Recording,
    ) -> Result<String, ModelError> {
        self.access.check(owner, model).await?;
        let facts = self.facts(owner, model).await;
        let call = domain::ids::fresh();
        let expected = ExpectedUse {
            input_tokens: (recording.bytes.len() as u64).div_ceil(BYTES_PER_AUDIO_TOKEN),
            max_tokens: None,
            output_limit: Some(MAX_TRANSCRIPT_TOKENS),
            price: self.price(model, facts.as_ref()),
        };
        let reservation = self.quotas.reserve(owner, model, call, &expected).await?;
        let transcript = match self.call_transcription(owner, model, recording).await {
            Ok(transcript) => transcript,
            Err(error) => {
                if reservation.is_stored {
                    self.quotas.release(owner, call).await;
                }
                return Err(error);
            }
        };
        let usage = transcript.usage.unwrap_or_else(|| Usage {
            input_tokens: expected.input_tokens,
            output_tokens: estimate_tokens(transcript.text.len() as u64),
            cached_input_tokens: 0,
        });
        let nanos = facts.and_then(|facts| facts.price).map(|price| price.cost(usage));
        let (model, is_estimate) = (model.to_string(), transcript.usage.is_none());
        self.usage.record(owner, Cost { call, chat: None, message: None, model, usage, is_estimate, nanos });
        Ok(transcript.text)
    }

    async fn call_transcription(
        &self,
        owner: UserId,
        model: &ModelId,
        recording: &Recording,
    ) -> Result<TranscribedText, ModelError> {
        if is_user_provider(&model.provider) {
            // The provider is looked up with the user's id, so that no user can use another one's key.
            let own = self.user_providers.find(owner, &model.provider).await?;
            return own.client.transcribe(&own.listing.provider, &model.name, recording).await;
        }
        let listing = self.providers.iter().find(|listing| listing.provider.name == model.provider);
        self.client.transcribe(&listing.ok_or_else(no_model)?.provider, &model.name, recording).await
    }
}

/// Returns the most suitable of a provider's models.
fn choose(names: &[String]) -> Option<&str> {
    NAME_PARTS.into_iter().find_map(|part| {
        names.iter().map(String::as_str).find(|name| {
            let name = name.to_ascii_lowercase();
            name.contains(part) && !OTHER_NAME_PARTS.iter().any(|other| name.contains(other))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chooses_most_suitable_model() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let openai = ["gpt-5", "whisper-1", "gpt-4o-transcribe-diarize", "gpt-4o-transcribe", "gpt-4o-mini-transcribe"];
        assert_eq!(choose(&names(&openai)), Some("gpt-4o-mini-transcribe"));
        assert_eq!(choose(&names(&["llama", "Systran/faster-Whisper-small"])), Some("Systran/faster-Whisper-small"));
        assert_eq!(choose(&names(&["llama", "gpt-4o-transcribe-diarize"])), None);
    }
}
