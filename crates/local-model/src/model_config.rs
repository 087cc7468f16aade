//! Dimensions of a model, from the header of its weight file.

use std::collections::HashMap;

use candle_core::quantized::gguf_file::Value;

use crate::error::LoadError;

pub(crate) type Metadata = HashMap<String, Value>;

/// Pairing of a head's elements in rotary position embeddings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RotaryPairing {
    /// Element `i` is paired with element `i + head_dim / 2` (qwen2).
    Halves,
    /// Element `2 * i` is paired with element `2 * i + 1` (llama, whose rows are stored in that order).
    Adjacent,
}

/// Dimensions that the forward pass needs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelConfig {
    pub rotary: RotaryPairing,
    pub layers: usize,
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    pub norm_epsilon: f32,
    pub rope_base: f32,
    /// Context length of the training, in tokens.
    pub trained_context: usize,
}

impl ModelConfig {
    /// Reads the dimensions from the header's metadata.
    pub(crate) fn from_metadata(metadata: &Metadata) -> Result<Self, LoadError> {
        let family = metadata_text(metadata, "general.architecture")?;
        let rotary = match family {
            "qwen2" => RotaryPairing::Halves,
            "llama" => RotaryPairing::Adjacent,
            other => return Err(LoadError::Family(other.to_owned())),
        };
        let size = |name: &str| -> Result<usize, LoadError> {
            let value = metadata_value(metadata, &format!("{family}.{name}"))?;
            Ok(value.to_u64()? as usize)
        };
        let float = |name: &str| -> Result<f32, LoadError> {
            Ok(metadata_value(metadata, &format!("{family}.{name}"))?.to_f32()?)
        };
        let heads = size("attention.head_count")?;
        let embedding = size("embedding_length")?;
        let config = Self {
            rotary,
            layers: size("block_count")?,
            heads,
            // Optional in the GGUF specification: without it every head has keys of its own.
            kv_heads: size("attention.head_count_kv").unwrap_or(heads),
            head_dim: size("attention.key_length").unwrap_or_else(|_| embedding.checked_div(heads).unwrap_or(0)),
            norm_epsilon: float("attention.layer_norm_rms_epsilon")?,
            rope_base: float("rope.freq_base").unwrap_or(10_000.0),
            trained_context: size("context_length")?,
        };
        let are_heads_valid = config.heads > 0 && config.kv_heads > 0 && config.heads.is_multiple_of(config.kv_heads);
        if !are_heads_valid || config.head_dim == 0 || !config.head_dim.is_multiple_of(2) {
            return Err(LoadError::Damaged("the dimensions in the header are invalid".to_owned()));
        }
        Ok(config)
    }
}

/// Returns a metadata value.
pub(crate) fn metadata_value<'a>(metadata: &'a Metadata, key: &str) -> Result<&'a Value, LoadError> {
    metadata.get(key).ok_or_else(|| LoadError::Damaged(format!("the header has no {key}")))
}

/// Returns a metadata value that is a string.
pub(crate) fn metadata_text<'a>(metadata: &'a Metadata, key: &str) -> Result<&'a str, LoadError> {
    Ok(metadata_value(metadata, key)?.to_string()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejects_unsupported_family_by_name() {
        let metadata = Metadata::from([("general.architecture".to_owned(), Value::String("gemma3".to_owned()))]);
        let error = ModelConfig::from_metadata(&metadata).unwrap_err().to_string();
        assert!(error.contains("\"gemma3\"") && error.contains("Ollama"), "{error}");
    }

    #[test]
    fn rejects_invalid_dimensions() {
        let mut metadata = Metadata::from([("general.architecture".to_owned(), Value::String("qwen2".to_owned()))]);
        for name in ["attention.head_count", "embedding_length", "block_count", "context_length"] {
            metadata.insert(format!("qwen2.{name}"), Value::U32(0));
        }
        metadata.insert("qwen2.attention.layer_norm_rms_epsilon".to_owned(), Value::F32(1e-6));
        assert!(matches!(ModelConfig::from_metadata(&metadata), Err(LoadError::Damaged(_))));
    }
}
