//! What the model has read, kept so that the same beginning is never read twice.

use candle_core::{DType, Device, Result, Tensor};

use crate::config::Config;

/// Prompts whose beginnings are kept at the same time: a few people's lists of tools and the plain one. Memory is
/// taken when tokens are read, about 57 kB each with the default weights.
const SLOTS: usize = 3;

/// Keys and values of the tokens read so far, in every layer. The room for all of them is reserved once; shortening
/// is a matter of forgetting positions.
#[derive(Debug)]
pub(crate) struct KvCache {
    /// Keys and values of each layer: `[1, context, kv_heads, head_dim]`.
    layers: Vec<(Tensor, Tensor)>,
    tokens: Vec<u32>,
}

impl KvCache {
    pub(crate) fn new(config: &Config, context: usize) -> Result<Self> {
        let shape = (1, context, config.kv_heads, config.head_dim);
        let zeros = || Tensor::zeros(shape, DType::F32, &Device::Cpu);
        let layers = (0..config.layers).map(|_| Ok((zeros()?, zeros()?))).collect::<Result<_>>()?;
        Ok(Self { layers, tokens: Vec::new() })
    }

    /// The tokens read so far.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Forgets everything from position `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
    }

    /// Writes the keys and values of new tokens behind those there are, and gives all of them.
    pub(crate) fn extend_layer(&self, layer: usize, keys: &Tensor, values: &Tensor) -> Result<(Tensor, Tensor)> {
        let (all_keys, all_values) = &self.layers[layer];
        let (start, added) = (self.tokens.len(), keys.dim(1)?);
        all_keys.slice_set(keys, 1, start)?;
        all_values.slice_set(values, 1, start)?;
        Ok((all_keys.narrow(1, 0, start + added)?, all_values.narrow(1, 0, start + added)?))
    }

    /// Counts `tokens` as read, after every layer was extended by them.
    pub(crate) fn advance(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }
}

/// The prompts that are kept.
#[derive(Debug)]
pub(crate) struct Slots {
    /// Ordered by last use, the latest at the end.
    caches: Vec<KvCache>,
}

impl Slots {
    pub(crate) fn new() -> Self {
        Self { caches: Vec::with_capacity(SLOTS) }
    }

    /// The cache that begins with `head` (or with the part of it that was read before somebody pressed Stop), or
    /// else an unused one, or else the one that was not used for longest; cut to what it has in common with `head` followed by `tail`, and always short of the last token, whose reading
    /// gives the first word of the answer.
    pub(crate) fn for_prompt(
        &mut self,
        head: &[u32],
        tail: &[u32],
        fresh: impl FnOnce() -> Result<KvCache>,
    ) -> Result<&mut KvCache> {
        let belongs = |read: &[u32]| read.starts_with(head) || (!read.is_empty() && head.starts_with(read));
        let found = self.caches.iter().position(|cache| belongs(cache.tokens()));
        let cache = match found {
            Some(index) => self.caches.remove(index),
            None if self.caches.len() < SLOTS => fresh()?,
            None => self.caches.remove(0),
        };
        let last = self.caches.len();
        self.caches.push(cache);
        let cache = &mut self.caches[last];
        let prompt = head.iter().chain(tail);
        let common = cache.tokens().iter().zip(prompt).take_while(|(a, b)| a == b).count();
        cache.truncate(common.min((head.len() + tail.len()).saturating_sub(1)));
        Ok(cache)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> KvCache {
        KvCache { layers: Vec::new(), tokens: Vec::new() }
    }

    fn read<'a>(slots: &'a mut Slots, head: &[u32], tail: &[u32]) -> &'a mut KvCache {
        slots.for_prompt(head, tail, || Ok(empty())).unwrap()
    }

    fn fill(slots: &mut Slots, head: &[u32], tail: &[u32]) {
        let cache = read(slots, head, tail);
        let rest: Vec<u32> = head.iter().chain(tail).copied().skip(cache.tokens().len()).collect();
        cache.advance(&rest);
    }

    #[test]
    fn a_prompt_finds_its_head_again_and_keeps_what_is_common() {
        let mut slots = Slots::new();
        fill(&mut slots, &[1, 2, 3], &[7, 8]);
        fill(&mut slots, &[1, 2, 4], &[7, 8]);
        assert_eq!(read(&mut slots, &[1, 2, 3], &[7, 9]).tokens(), [1, 2, 3, 7]);
        assert_eq!(read(&mut slots, &[1, 2, 4], &[7, 8]).tokens(), [1, 2, 4, 7], "the last token is read again");
    }

    #[test]
    fn the_prompt_that_was_not_used_for_longest_goes_first() {
        let mut slots = Slots::new();
        for head in 1..=SLOTS as u32 {
            fill(&mut slots, &[head], &[0, 0]);
        }
        fill(&mut slots, &[1], &[0, 0]);
        fill(&mut slots, &[9], &[0, 0]);
        assert_eq!(read(&mut slots, &[1], &[0, 0]).tokens(), [1, 0]);
        assert!(read(&mut slots, &[2], &[0, 0]).tokens().is_empty(), "2 made room for 9");
    }
}
