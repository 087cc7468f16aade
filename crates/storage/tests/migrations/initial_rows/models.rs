//! Usage, choices and providers of models in the fixture 0100.

use domain::model::{ModelSettings, Usage};
use domain::{MessageId, ModelProviderId};
use storage::Storage;
use storage::model_providers::ModelProvider;
use storage::model_settings::ModelDefaults;
use storage::usage::{OfAnswer, Total};
use uuid::Uuid;

use crate::migrations::{ADA, CHAT, at};

pub async fn check(storage: &Storage) {
    check_usage(storage).await;
    check_choices(storage).await;
    check_providers(storage).await;
}

async fn check_usage(storage: &Storage) {
    let usage = Usage { input_tokens: 20, output_tokens: 5, cached_input_tokens: 10 };
    let total = Total { usage, calls: 1, estimated_calls: 1, cost_usd: 3.0, unpriced_calls: 0 };
    let answer = OfAnswer { chat: CHAT, message: MessageId(Uuid::from_u128(0x1d)) };
    assert_eq!(storage.usage().cost_of_chat(ADA, CHAT).await.unwrap(), total);
    assert_eq!(storage.usage().cost_of_message(ADA, answer).await.unwrap(), total);
    assert_eq!(storage.usage().last_call_of_message(ADA, answer).await.unwrap(), Some(usage));
    let days = storage.usage().costs_by_day(ADA, at(62), at(63)).await.unwrap();
    let days: Vec<_> = days.into_iter().map(|day| (day.model, day.total)).collect();
    assert_eq!(days, [("openai/gpt".to_owned(), total)]);
}

async fn check_choices(storage: &Storage) {
    assert_eq!(storage.models().list_favourites(ADA).await.unwrap(), ["openai/gpt"]);
    let settings = ModelSettings { system: Some("Be brief.".to_owned()), ..ModelSettings::default() };
    let defaults = ModelDefaults { model: Some("openai/mini".to_owned()), settings };
    assert_eq!(storage.models().get_defaults(ADA).await.unwrap(), defaults);
    // Titles are proposed only where a user chose it, which was not possible before 0102.
    assert!(!storage.models().proposes_titles(ADA).await.unwrap());
}

async fn check_providers(storage: &Storage) {
    let provider = ModelProvider {
        id: ModelProviderId(Uuid::from_u128(0x16)),
        slug: "mine".to_owned(),
        name: "My models".to_owned(),
        kind: "openai".to_owned(),
        base_url: "https://models.example".to_owned(),
        secret: Some(vec![0x99, 0xff]),
        hint: Some("wxyz".to_owned()),
        created_at: at(64),
        changed_at: at(65),
    };
    assert_eq!(storage.model_providers().list(ADA).await.unwrap(), [provider]);
}
