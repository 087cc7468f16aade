//! The shape of a model, as the header of its file tells it.

use std::collections::HashMap;

use candle_core::quantized::gguf_file::Value;

use crate::error::LoadError;

pub(crate) type Metadata = HashMap<String, Value>;

/// How the two halves of a head are paired when positions are turned into rotations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rotary {
    /// Element i goes with element i + half (qwen2).
    Halves,
    /// Element 2i goes with element 2i + 1 (llama, whose rows are stored in that order).
    Neighbours,
}

/// The sizes that the forward pass needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    pub rotary: Rotary,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub norm_epsilon: f32,
    pub rope_base: f32,
    /// Tokens the model was trained to read at once.
    pub trained_context: usize,
}

impl Config {
    pub(crate) fn read(metadata: &Metadata) -> Result<Self, LoadError> {
        let family = text(metadata, "general.architecture")?;
        let rotary = match family {
            "qwen2" => Rotary::Halves,
            "llama" => Rotary::Neighbours,
            other => return Err(LoadError::Family(other.to_owned())),
        };
        let size = |name: &str| -> Result<usize, LoadError> {
            let value = entry(metadata, &format!("{family}.{name}"))?;
            Ok(value.to_u64()? as usize)
        };
        let float =
            |name: &str| -> Result<f32, LoadError> { Ok(entry(metadata, &format!("{family}.{name}"))?.to_f32()?) };
        let heads = size("attention.head_count")?;
        let embedding = size("embedding_length")?;
        let config = Self {
            rotary,
            layers: size("block_count")?,
            heads,
            kv_heads: size("attention.head_count_kv").unwrap_or(heads),
            head_dim: size("attention.key_length").unwrap_or_else(|_| embedding.checked_div(heads).unwrap_or(0)),
            norm_epsilon: float("attention.layer_norm_rms_epsilon")?,
            rope_base: float("rope.freq_base").unwrap_or(10_000.0),
            trained_context: size("context_length")?,
        };
        let whole = config.heads > 0 && config.kv_heads > 0 && config.heads.is_multiple_of(config.kv_heads);
        if !whole || config.head_dim == 0 || !config.head_dim.is_multiple_of(2) {
            return Err(LoadError::Damaged("the header's sizes make no model".to_owned()));
        }
        Ok(config)
    }
}

pub(crate) fn entry<'a>(metadata: &'a Metadata, key: &str) -> Result<&'a Value, LoadError> {
    metadata.get(key).ok_or_else(|| LoadError::Damaged(format!("the header lacks {key}")))
}

pub(crate) fn text<'a>(metadata: &'a Metadata, key: &str) -> Result<&'a str, LoadError> {
    Ok(entry(metadata, key)?.to_string()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_family_is_refused_by_name() {
        let metadata = Metadata::from([("general.architecture".to_owned(), Value::String("gemma3".to_owned()))]);
        let error = Config::read(&metadata).unwrap_err().to_string();
        assert!(error.contains("\"gemma3\"") && error.contains("Ollama"), "{error}");
    }

    #[test]
    fn sizes_that_make_no_model_are_refused() {
        let mut metadata = Metadata::from([("general.architecture".to_owned(), Value::String("qwen2".to_owned()))]);
        for name in ["attention.head_count", "embedding_length", "block_count", "context_length"] {
            metadata.insert(format!("qwen2.{name}"), Value::U32(0));
        }
        metadata.insert("qwen2.attention.layer_norm_rms_epsilon".to_owned(), Value::F32(1e-6));
        assert!(matches!(Config::read(&metadata), Err(LoadError::Damaged(_))));
    }
}
