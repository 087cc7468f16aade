//! The list of models.

use domain::model::ModelError;
use serde::Deserialize;

/// The path of the list of models.
pub(crate) const MODELS_PATH: &str = "models";

#[derive(Deserialize)]
#[serde(untagged)]
enum Listing {
    Data { data: Vec<Model> },
    Models { models: Vec<Model> },
    Bare(Vec<Model>),
}

#[derive(Deserialize)]
struct Model {
    #[serde(alias = "name")]
    id: String,
}

/// The names in a list, in its order, each once.
pub(crate) fn model_names(body: &[u8]) -> Result<Vec<String>, ModelError> {
    let listing: Listing = serde_json::from_slice(body)
        .map_err(|_| ModelError::Malformed("not a list of models; check the base URL".to_owned()))?;
    let (Listing::Data { data: models } | Listing::Models { models } | Listing::Bare(models)) = listing;
    let mut names: Vec<String> = Vec::with_capacity(models.len());
    for model in models {
        if !names.contains(&model.id) {
            names.push(model.id);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_lists_in_use() {
        let want = vec!["a".to_owned(), "b/c".to_owned()];
        for body in [
            r#"{"object":"list","data":[{"id":"a","owned_by":"x"},{"id":"b/c"},{"id":"a"}]}"#,
            r#"{"models":[{"name":"a"},{"name":"b/c"}]}"#,
            r#"[{"id":"a"},{"id":"b/c"}]"#,
        ] {
            assert_eq!(model_names(body.as_bytes()).unwrap(), want, "{body}");
        }
        assert!(matches!(model_names(b"<html>"), Err(ModelError::Malformed(_))));
    }
}
