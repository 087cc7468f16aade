//! The schemas of tools as the model has read them, each behind what stands before every list, so that none is read again
//! for a call.

use candle_core::{Result, Tensor};

use crate::cache::KvCache;

/// Tokens of all schemas together that are kept, about 120 MB with the default weights.
pub(crate) const MOST_TOKENS: usize = 2_048;

/// The schemas that are kept.
#[derive(Debug, Default)]
pub(crate) struct Schemas {
    /// Ordered by last use, the latest at the end.
    kept: Vec<Schema>,
}

/// One tool's.
#[derive(Debug)]
struct Schema {
    /// What it was read behind.
    before: Vec<u32>,
    tokens: Vec<u32>,
    /// Keys and values of each layer (`[kv_heads, tokens, head_dim]`).
    layers: Vec<(Tensor, Tensor)>,
}

impl Schemas {
    /// Whether a tool was read behind `before`, and counts it as the one that was used last.
    pub(crate) fn touch(&mut self, before: &[u32], tool: &[u32]) -> bool {
        let Some(index) = self.kept.iter().position(|schema| schema.is(before, tool)) else { return false };
        let schema = self.kept.remove(index);
        self.kept.push(schema);
        true
    }

    /// Keeps a tool that `cache` has read behind `before`, in place of those that were not used for longest.
    pub(crate) fn keep(&mut self, before: &[u32], tool: &[u32], cache: &KvCache) -> Result<()> {
        while !self.kept.is_empty()
            && self.kept.iter().map(|schema| schema.tokens.len()).sum::<usize>() + tool.len() > MOST_TOKENS
        {
            self.kept.remove(0);
        }
        let layers = cache.layers(before.len(), tool.len())?;
        self.kept.push(Schema { before: before.to_vec(), tokens: tool.to_vec(), layers });
        Ok(())
    }

    /// Puts a tool that was read behind `before` into a `cache` that has read nothing else.
    pub(crate) fn put(&self, before: &[u32], tool: &[u32], cache: &mut KvCache) -> Result<()> {
        let Some(schema) = self.kept.iter().find(|schema| schema.is(before, tool)) else { return Ok(()) };
        cache.append(&schema.tokens, &schema.layers)
    }
}

impl Schema {
    fn is(&self, before: &[u32], tool: &[u32]) -> bool {
        self.tokens == tool && self.before == before
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forward::Model;
    use crate::tests::model;

    const BEFORE: [u32; 4] = [1, 40, 41, 42];

    /// A cache that has read these.
    fn read(model: &Model, parts: &[&[u32]]) -> KvCache {
        let mut cache = model.new_cache().unwrap();
        for part in parts {
            model.read(part, &mut cache).unwrap();
        }
        cache
    }

    /// What may come next behind `more`.
    fn next(model: &Model, cache: &mut KvCache, more: &[u32]) -> Vec<f32> {
        model.logits(&model.read(more, cache).unwrap()).unwrap()
    }

    #[test]
    fn a_tool_that_was_kept_is_as_if_it_were_read_again() {
        let (model, _) = model();
        let tool = [60, 61, 62, 63, 64];
        let mut whole = read(&model, &[&BEFORE, &tool]);
        let mut schemas = Schemas::default();
        assert!(!schemas.touch(&BEFORE, &tool));
        schemas.keep(&BEFORE, &tool, &whole).unwrap();
        assert!(schemas.touch(&BEFORE, &tool) && !schemas.touch(&BEFORE[1..], &tool));

        let mut cache = read(&model, &[&BEFORE]);
        schemas.put(&BEFORE, &tool, &mut cache).unwrap();
        assert_eq!(cache.tokens(), whole.tokens());
        let [one, other] = [&mut whole, &mut cache].map(|cache| next(&model, cache, &[70, 71]));
        assert_eq!(one, other);
    }

    #[test]
    fn those_that_were_not_used_for_longest_leave_first() {
        let (model, _) = model();
        let mut schemas = Schemas::default();
        let long = |first: u32| [vec![first], vec![7; MOST_TOKENS / 4]].concat();
        let keep = |schemas: &mut Schemas, first: u32| {
            let mut cache = model.new_cache().unwrap();
            cache.reserve(MOST_TOKENS).unwrap();
            cache.advance(&[&BEFORE[..], &long(first)].concat());
            schemas.keep(&BEFORE, &long(first), &cache).unwrap();
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
