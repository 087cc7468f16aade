//! Key-value caches of prompts, so that the same prefix is not read twice.

use candle_core::{DType, Device, Result, Tensor};

use crate::model_config::ModelConfig;

/// Maximum number of cached prompts: those that all requests share, some users' tool lists, some tools that were
/// called or compared, and the prefixes for text. Each cached token takes about 57 kB with the default weights.
const MAX_SLOTS: usize = 12;

/// Maximum number of tokens of all cached prompts, about 900 MB with the default weights: two conversations of the
/// maximum context length.
const MAX_TOTAL_TOKENS: usize = 16_384;

/// Minimum length of a common prefix that is copied from another prompt, in tokens; shorter ones are faster to read.
const MIN_COPIED_TOKENS: usize = 16;

/// Number of tokens by which the capacity of a cache grows.
const CAPACITY_STEP_TOKENS: usize = 512;

/// Keys and values of the tokens read so far, in every layer. Truncation only drops positions.
#[derive(Debug)]
pub(crate) struct KvCache {
    /// Keys and values of each layer, of shape `[kv_heads, capacity, head_dim]`, so that those of a head are
    /// contiguous.
    layers: Vec<(Tensor, Tensor)>,
    tokens: Vec<u32>,
    /// Number of tokens for which memory is allocated.
    capacity: usize,
}

impl KvCache {
    /// Creates an empty cache for a model.
    pub(crate) fn new(config: &ModelConfig) -> Result<Self> {
        let shape = (config.kv_heads, CAPACITY_STEP_TOKENS, config.head_dim);
        let zeros = || Tensor::zeros(shape, DType::F32, &Device::Cpu);
        let layers = (0..config.layers).map(|_| Ok((zeros()?, zeros()?))).collect::<Result<_>>()?;
        Ok(Self { layers, tokens: Vec::new(), capacity: CAPACITY_STEP_TOKENS })
    }

    /// Grows the capacity to `len` tokens in total.
    pub(crate) fn reserve(&mut self, len: usize) -> Result<()> {
        if len <= self.capacity {
            return Ok(());
        }
        // In steps, because every growth copies the whole cache.
        let (capacity, read) = (len.next_multiple_of(CAPACITY_STEP_TOKENS), self.tokens.len());
        let grow = |old: &mut Tensor| -> Result<()> {
            let (heads, _, size) = old.dims3()?;
            let new = Tensor::zeros((heads, capacity, size), DType::F32, &Device::Cpu)?;
            if read > 0 {
                copy_positions(&new, 0, old, read)?;
            }
            *old = new;
            Ok(())
        };
        for (keys, values) in &mut self.layers {
            grow(keys)?;
            grow(values)?;
        }
        self.capacity = capacity;
        Ok(())
    }

    /// Returns the tokens read so far.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Drops all positions from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        // The keys and values stay in memory and are overwritten; only the tokens say what is valid.
        self.tokens.truncate(len);
    }

    /// Replaces the content with the first `len` tokens of another cache.
    fn copy_from(&mut self, other: &Self, len: usize) -> Result<()> {
        self.restore(&other.tokens[..len], &other.layers)
    }

    /// Returns the keys and values of each layer for `count` tokens from `start` on, of shape `[kv_heads, count,
    /// head_dim]`.
    pub(crate) fn layers(&self, start: usize, count: usize) -> Result<Vec<(Tensor, Tensor)>> {
        let part = |all: &Tensor| all.narrow(1, start, count)?.contiguous();
        self.layers.iter().map(|(keys, values)| Ok((part(keys)?, part(values)?))).collect()
    }

    /// Replaces the content with `tokens`, as in [`Self::append`].
    pub(crate) fn restore(&mut self, tokens: &[u32], layers: &[(Tensor, Tensor)]) -> Result<()> {
        self.tokens.clear();
        self.append(tokens, layers)
    }

    /// Appends `tokens` with the keys and values of each layer, which may contain further positions. Fails without a
    /// change of the tokens when the shapes differ.
    pub(crate) fn append(&mut self, tokens: &[u32], layers: &[(Tensor, Tensor)]) -> Result<()> {
        let (start, count) = (self.tokens.len(), tokens.len());
        self.reserve(start + count)?;
        if layers.len() != self.layers.len() {
            candle_core::bail!("{} layers instead of {}", layers.len(), self.layers.len());
        }
        for ((keys, values), (kept_keys, kept_values)) in self.layers.iter().zip(layers) {
            copy_positions(keys, start, kept_keys, count)?;
            copy_positions(values, start, kept_values, count)?;
        }
        // Last, so that after an error the cache still describes only complete positions.
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }

    /// Appends the keys and values of new tokens (`[1, count, kv_heads, head_dim]`) in one layer, and returns all of
    /// that layer (`[kv_heads, length, head_dim]`). The tokens are added by [`Self::advance`].
    pub(crate) fn extend_layer(&self, layer: usize, keys: &Tensor, values: &Tensor) -> Result<(Tensor, Tensor)> {
        let (all_keys, all_values) = &self.layers[layer];
        let (start, added) = (self.tokens.len(), keys.dim(1)?);
        for (all, new) in [(all_keys, keys), (all_values, values)] {
            // In place: a concatenation would copy the whole cache for every token.
            all.slice_set(&new.squeeze(0)?.transpose(0, 1)?.contiguous()?, 1, start)?;
        }
        Ok((all_keys.narrow(1, 0, start + added)?, all_values.narrow(1, 0, start + added)?))
    }

    /// Adds `tokens`, after [`Self::extend_layer`] was called for every layer.
    pub(crate) fn advance(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }
}

/// Copies the first `count` positions of one tensor into another, from `start` on.
fn copy_positions(to: &Tensor, start: usize, from: &Tensor, count: usize) -> Result<()> {
    to.slice_set(&from.narrow(1, 0, count)?.contiguous()?, 1, start)
}

/// Least-recently-used caches of prompts, at most [`MAX_SLOTS`].
#[derive(Debug)]
pub(crate) struct CacheSlots {
    /// Ordered by last use, the latest at the end.
    caches: Vec<KvCache>,
}

impl CacheSlots {
    pub(crate) fn new() -> Self {
        Self { caches: Vec::with_capacity(MAX_SLOTS) }
    }

    /// Returns a cache that starts with `head`.
    pub(crate) fn find(&self, head: &[u32]) -> Option<&KvCache> {
        self.caches.iter().find(|cache| cache.tokens().starts_with(head))
    }

    /// Returns the shortest cache that starts with `head`, whose content is cheapest to replace.
    pub(crate) fn find_mut(&mut self, head: &[u32]) -> Option<&mut KvCache> {
        let matching = self.caches.iter_mut().filter(|cache| cache.tokens().starts_with(head));
        matching.min_by_key(|cache| cache.tokens().len())
    }

    /// Adds a cache, and evicts the least recently used ones over the limits.
    pub(crate) fn insert(&mut self, cache: KvCache) {
        if self.caches.len() == MAX_SLOTS {
            self.caches.remove(0);
        }
        self.evict_for(cache.capacity);
        self.caches.push(cache);
    }

    /// Evicts the least recently used caches until `needed` more tokens fitwithin [`MAX_TOTAL_TOKENS`].
    fn evict_for(&mut self, needed: usize) {
        while !self.caches.is_empty()
            && needed + self.caches.iter().map(|cache| cache.capacity).sum::<usize>() > MAX_TOTAL_TOKENS
        {
            self.caches.remove(0);
        }
    }

    /// Returns a cache for the prompt `head` followed by `tail`, truncated to their common prefix.
    ///
    /// It is the cache that starts with `head` (or with a part of it, after a cancelled read), or else a new one or
    /// the least recently used one, with a copy of the longest prefix of `head` in another cache. The last token of
    /// the prompt is never cached, because reading it yields the logits of the first token of the response.
    pub(crate) fn for_prompt(
        &mut self,
        head: &[u32],
        tail: &[u32],
        fresh: impl FnOnce() -> Result<KvCache>,
    ) -> Result<&mut KvCache> {
        // A cancelled read leaves a part of `head`, which is worth continuing.
        let belongs = |read: &[u32]| read.starts_with(head) || (!read.is_empty() && head.starts_with(read));
        let matching = self.caches.iter().enumerate().filter(|(_, cache)| belongs(cache.tokens()));
        let found = matching
            .max_by_key(|(_, cache)| common_prefix_len(cache.tokens(), head.iter().chain(tail)))
            .map(|(index, _)| index);
        let mut cache = match found {
            Some(index) => self.caches.remove(index),
            None if self.caches.len() < MAX_SLOTS => fresh()?,
            // The least recently used one, whose memory is used again.
            None => self.caches.remove(0),
        };
        self.evict_for((head.len() + tail.len()).max(cache.capacity));
        if found.is_none() {
            let in_common = |other: &KvCache| common_prefix_len(other.tokens(), head.iter());
            // Copying positions is much faster than computing them.
            let like = self.caches.iter().max_by_key(|other| in_common(other));
            if let Some(like) = like.filter(|like| in_common(like) >= MIN_COPIED_TOKENS.max(in_common(&cache))) {
                cache.copy_from(like, in_common(like))?;
            }
        }
        let last = self.caches.len();
        self.caches.push(cache);
        let cache = &mut self.caches[last];
        let common = common_prefix_len(cache.tokens(), head.iter().chain(tail));
        cache.truncate(common.min((head.len() + tail.len()).saturating_sub(1)));
        Ok(cache)
    }
}

/// Returns the length of the common prefix in tokens.
fn common_prefix_len<'a>(read: &[u32], prompt: impl Iterator<Item = &'a u32>) -> usize {
    read.iter().zip(prompt).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> KvCache {
        KvCache { layers: Vec::new(), tokens: Vec::new(), capacity: 0 }
    }

    fn read<'a>(slots: &'a mut CacheSlots, head: &[u32], tail: &[u32]) -> &'a mut KvCache {
        slots.for_prompt(head, tail, || Ok(empty())).unwrap()
    }

    fn fill(slots: &mut CacheSlots, head: &[u32], tail: &[u32]) {
        let cache = read(slots, head, tail);
        let rest: Vec<u32> = head.iter().chain(tail).copied().skip(cache.tokens().len()).collect();
        cache.advance(&rest);
    }

    #[test]
    fn finds_prompt_and_keeps_common_prefix() {
        let mut slots = CacheSlots::new();
        fill(&mut slots, &[1, 2, 3], &[7, 8]);
        fill(&mut slots, &[1, 2, 4], &[7, 8]);
        assert_eq!(read(&mut slots, &[1, 2, 3], &[7, 9]).tokens(), [1, 2, 3, 7]);
        assert_eq!(read(&mut slots, &[1, 2, 4], &[7, 8]).tokens(), [1, 2, 4, 7], "the last token is read again");
    }

    #[test]
    fn copies_common_prefix_into_new_prompt() {
        let mut slots = CacheSlots::new();
        let shared: Vec<u32> = (0..MIN_COPIED_TOKENS as u32).collect();
        let head = |last: u32| [shared.as_slice(), &[last]].concat();
        fill(&mut slots, &head(90), &[7]);
        assert_eq!(read(&mut slots, &head(91), &[7]).tokens(), shared);
        assert!(read(&mut slots, &[0, 1, 2, 99], &[7]).tokens().is_empty(), "too little to be worth it");
        assert_eq!(read(&mut slots, &head(90), &[7]).tokens(), head(90), "the other one stays as it was");
    }

    #[test]
    fn long_prompts_evict_least_recently_used() {
        let mut slots = CacheSlots::new();
        let long = |head: u32| vec![head; MAX_TOTAL_TOKENS / 2];
        fill(&mut slots, &[1], &[0, 0]);
        for head in [2, 3] {
            fill(&mut slots, &long(head), &[0]);
            read(&mut slots, &long(head), &[0]).reserve(MAX_TOTAL_TOKENS / 2).unwrap();
        }
        assert_eq!(slots.caches.len(), 1, "two and a little are too much");
        assert_eq!(read(&mut slots, &long(3), &[1]).tokens().len(), MAX_TOTAL_TOKENS / 2);
    }

    #[test]
    fn reuses_inserted_cache_for_matching_prompt() {
        let mut slots = CacheSlots::new();
        for head in 1..=MAX_SLOTS as u32 {
            fill(&mut slots, &[head], &[0, 0]);
        }
        let kept = KvCache { tokens: vec![70, 71, 72], ..empty() };
        slots.insert(kept);
        assert!(slots.find(&[70, 71]).is_some() && slots.find(&[71]).is_none());
        assert!(slots.find(&[1]).is_none() && slots.caches.len() == MAX_SLOTS, "the oldest made room");
        slots.insert(KvCache { tokens: vec![70, 71], ..empty() });
        assert_eq!(slots.find_mut(&[70]).unwrap().tokens(), [70, 71], "the shortest costs least to change");
        assert_eq!(read(&mut slots, &[70, 71, 72, 73], &[7]).tokens(), [70, 71, 72]);
    }

    #[test]
    fn evicts_least_recently_used_prompt() {
        let mut slots = CacheSlots::new();
        for head in 1..=MAX_SLOTS as u32 {
            fill(&mut slots, &[head], &[0, 0]);
        }
        fill(&mut slots, &[1], &[0, 0]);
        fill(&mut slots, &[90], &[0, 0]);
        assert_eq!(read(&mut slots, &[1], &[0, 0]).tokens(), [1, 0]);
        assert!(read(&mut slots, &[2], &[0, 0]).tokens().is_empty(), "2 made room for 90");
    }
}
