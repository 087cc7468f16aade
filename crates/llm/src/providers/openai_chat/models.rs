//! Model list of OpenAI-compatible servers.

use domain::model::ModelError;
use serde::Deserialize;

/// Path of the model list.
pub(crate) const MODELS_PATH: &str = "models";

/// The shapes of model lists in use.
#[derive(Deserialize)]
#[serde(untagged)]
enum ModelList {
    Data { data: Vec<Model> },
    Models { models: Vec<Model> },
    Bare(Vec<Model>),
}

#[derive(Deserialize)]
struct Model {
    #[serde(alias = "name")]
    id: String,
}

/// Parses the names in a model list, in its order and without duplicates.
pub(crate) fn parse_model_names(body: &[u8]) -> Result<Vec<String>, ModelError> {
    let list: ModelList = serde_json::from_slice(body)
        .map_err(|_| ModelError::Malformed("not a model list, check the base URL".to_owned()))?;
    let (ModelList::Data { data: models } | ModelList::Models { models } | ModelList::Bare(models)) = list;
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
    fn parses_model_lists_of_every_shape() {
        let want = vec!["a".to_owned(), "b/c".to_owned()];
        for body in [
            r#"{"object":"list","data":[{"id":"a","owned_by":"x"},{"id":"b/c"},{"id":"a"}]}"#,
            r#"{"models":[{"name":"a"},{"name":"b/c"}]}"#,
            r#"[{"id":"a"},{"id":"b/c"}]"#,
        ] {
            assert_eq!(parse_model_names(body.as_bytes()).unwrap(), want, "{body}");
        }
        assert!(matches!(parse_model_names(b"<html>"), Err(ModelError::Malformed(_))));
    }
}
