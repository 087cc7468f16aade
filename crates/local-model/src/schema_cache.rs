//! Cache of tool schemas that the model has read, so that none is read again for a call.

use candle_core::{Result, Tensor};

use crate::kv_cache::KvCache;

/// Maximum number of tokens of all cached schemas, about 120 MB with the default weights.
pub(crate) const MAX_CACHED_SCHEMA_TOKENS: usize = 2_048;

/// Least-recently-used cache of tool schemas.
#[derive(Debug, Default)]
pub(crate) struct SchemaCache {
    /// Ordered by last use, the latest at the end.
    entries: Vec<CachedSchema>,
}

/// Cached schema of one tool.
#[derive(Debug)]
struct CachedSchema {
    /// Tokens that it was read after.
    prefix: Vec<u32>,
    tokens: Vec<u32>,
    /// Keys and values of each layer (`[kv_heads, tokens, head_dim]`).
    layers: Vec<(Tensor, Tensor)>,
}

impl SchemaCache {
    /// Returns whether a tool is cached after the tokens `before`, and marks it as used.
    pub(crate) fn touch(&mut self, before: &[u32], tool: &[u32]) -> bool {
        let Some(index) = self.entries.iter().position(|schema| schema.matches(before, tool)) else { return false };
        let schema = self.entries.remove(index);
        self.entries.push(schema);
        true
    }

    /// Stores a tool that `cache` contains after the tokens `before`, and evicts the least recently used ones.
    pub(crate) fn insert(&mut self, before: &[u32], tool: &[u32], cache: &KvCache) -> Result<()> {
        while !self.entries.is_empty()
            && self.entries.iter().map(|schema| schema.tokens.len()).sum::<usize>() + tool.len()
                > MAX_CACHED_SCHEMA_TOKENS
        {
            self.entries.remove(0);
        }
        let layers = cache.layers(before.len(), tool.len())?;
        self.entries.push(CachedSchema { prefix: before.to_vec(), tokens: tool.to_vec(), layers });
        Ok(())
    }

    /// Appends a cached tool to a `cache` that contains only the tokens `before`.
    pub(crate) fn append_to(&self, before: &[u32], tool: &[u32], cache: &mut KvCache) -> Result<()> {
        let Some(schema) = self.entries.iter().find(|schema| schema.matches(before, tool)) else { return Ok(()) };
        cache.append(&schema.tokens, &schema.layers)
    }
}

impl CachedSchema {
    fn matches(&self, before: &[u32], tool: &[u32]) -> bool {
        self.tokens == tool && self.prefix == before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::model;
    use crate::transformer::TransformerModel;

    const BEFORE: [u32; 4] = [1, 40, 41, 42];

    /// A cache that has read these.
    fn read(model: &TransformerModel, parts: &[&[u32]]) -> KvCache {
        let mut cache = model.new_cache().unwrap();
        for part in parts {
            model.read(part, &mut cache).unwrap();
        }
        cache
    }

    /// What may come next behind `more`.
    fn next(model: &TransformerModel, cache: &mut KvCache, more: &[u32]) -> Vec<f32> {
        model.logits(&model.read(more, cache).unwrap()).unwrap()
    }

    #[test]
    fn cached_schema_equals_schema_read_again() {
        let (model, _) = model();
        let tool = [60, 61, 62, 63, 64];
        let mut whole = read(&model, &[&BEFORE, &tool]);
        let mut schemas = SchemaCache::default();
        assert!(!schemas.touch(&BEFORE, &tool));
        schemas.insert(&BEFORE, &tool, &whole).unwrap();
        assert!(schemas.touch(&BEFORE, &tool) && !schemas.touch(&BEFORE[1..], &tool));

        let mut cache = read(&model, &[&BEFORE]);
        schemas.append_to(&BEFORE, &tool, &mut cache).unwrap();
        assert_eq!(cache.tokens(), whole.tokens());
        let [one, other] = [&mut whole, &mut cache].map(|cache| next(&model, cache, &[70, 71]));
        assert_eq!(one, other);
    }

    #[test]
    fn evicts_least_recently_used_schemas() {
        let (model, _) = model();
        let mut schemas = SchemaCache::default();
        let long = |first: u32| [vec![first], vec![7; MAX_CACHED_SCHEMA_TOKENS / 4]].concat();
        let keep = |schemas: &mut SchemaCache, first: u32| {
            let mut cache = model.new_cache().unwrap();
            cache.reserve(MAX_CACHED_SCHEMA_TOKENS).unwrap();
            cache.advance(&[&BEFORE[..], &long(first)].concat());
            schemas.insert(&BEFORE, &long(first), &cache).unwrap();
        };
        for first in 10..13 {
            keep(&mut schemas, first);
        }
        assert!(schemas.touch(&BEFORE, &long(10)));
        keep(&mut schemas, 13);
        assert!(!schemas.touch(&BEFORE, &long(11)), "four and a little are too much");
        assert!([10, 12, 13].iter().all(|first| schemas.touch(&BEFORE, &long(*first))));
    }
}
