//! What the model has read, kept so that the same beginning is never read twice.

use candle_core::{DType, Device, Result, Tensor};

use crate::config::Config;

/// Prompts whose beginnings are kept at the same time: the four questions that are the same for everybody, a few people's
/// lists of tools, a few tools that were called or compared, what is said of tools, and the plain one. Memory is taken when tokens are read, about 57 kB each
/// with the default weights.
const SLOTS: usize = 12;

/// Tokens for which all of them together have memory, about 900 MB with the default weights: two conversations as long as
/// the model can read.
const MOST_ROOM: usize = 16_384;

/// Tokens that are worth copying from another prompt's beginning: reading so many takes longer.
const WORTH_COPYING: usize = 16;

/// Tokens by which the room grows: so many are moved once, and no more is kept idle.
const ROOM: usize = 512;

/// Keys and values of the tokens read so far, in every layer. Shortening is a matter of forgetting positions.
#[derive(Debug)]
pub(crate) struct KvCache {
    /// Keys and values of each layer: `[kv_heads, room, head_dim]`, so that a head's lie behind each other.
    layers: Vec<(Tensor, Tensor)>,
    tokens: Vec<u32>,
    /// Tokens for which there is memory.
    room: usize,
}

impl KvCache {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let shape = (config.kv_heads, ROOM, config.head_dim);
        let zeros = || Tensor::zeros(shape, DType::F32, &Device::Cpu);
        let layers = (0..config.layers).map(|_| Ok((zeros()?, zeros()?))).collect::<Result<_>>()?;
        Ok(Self { layers, tokens: Vec::new(), room: ROOM })
    }

    /// Makes room for `len` tokens in all.
    pub(crate) fn reserve(&mut self, len: usize) -> Result<()> {
        if len <= self.room {
            return Ok(());
        }
        let (room, read) = (len.next_multiple_of(ROOM), self.tokens.len());
        let grow = |old: &mut Tensor| -> Result<()> {
            let (heads, _, size) = old.dims3()?;
            let new = Tensor::zeros((heads, room, size), DType::F32, &Device::Cpu)?;
            if read > 0 {
                take_over(&new, 0, old, read)?;
            }
            *old = new;
            Ok(())
        };
        for (keys, values) in &mut self.layers {
            grow(keys)?;
            grow(values)?;
        }
        self.room = room;
        Ok(())
    }

    /// The tokens read so far.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// Forgets everything from position `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.tokens.truncate(len);
    }

    /// Takes the first `len` tokens over from another cache.
    fn copy(&mut self, other: &Self, len: usize) -> Result<()> {
        self.restore(&other.tokens[..len], &other.layers)
    }

    /// Keys and values of each layer of so many tokens from `start` on (`[kv_heads, count, head_dim]`).
    pub(crate) fn layers(&self, start: usize, count: usize) -> Result<Vec<(Tensor, Tensor)>> {
        let part = |all: &Tensor| all.narrow(1, start, count)?.contiguous();
        self.layers.iter().map(|(keys, values)| Ok((part(keys)?, part(values)?))).collect()
    }

    /// Takes `tokens` for read and nothing else, as [`Self::append`] does.
    pub(crate) fn restore(&mut self, tokens: &[u32], layers: &[(Tensor, Tensor)]) -> Result<()> {
        self.tokens.clear();
        self.append(tokens, layers)
    }

    /// Takes more `tokens` for read, with the keys and values of each layer, which may be of more tokens. Fails, and has
    /// read no more than before, where they are of another form.
    pub(crate) fn append(&mut self, tokens: &[u32], layers: &[(Tensor, Tensor)]) -> Result<()> {
        let (start, count) = (self.tokens.len(), tokens.len());
        self.reserve(start + count)?;
        if layers.len() != self.layers.len() {
            candle_core::bail!("{} layers in place of {}", layers.len(), self.layers.len());
        }
        for ((keys, values), (kept_keys, kept_values)) in self.layers.iter().zip(layers) {
            take_over(keys, start, kept_keys, count)?;
            take_over(values, start, kept_values, count)?;
        }
        self.tokens.extend_from_slice(tokens);
        Ok(())
    }

    /// Writes the keys and values of new tokens (`[1, count, kv_heads, head_dim]`) behind those there are, and gives all
    /// of them (`[kv_heads, length, head_dim]`).
    pub(crate) fn extend_layer(&self, layer: usize, keys: &Tensor, values: &Tensor) -> Result<(Tensor, Tensor)> {
        let (all_keys, all_values) = &self.layers[layer];
        let (start, added) = (self.tokens.len(), keys.dim(1)?);
        for (all, new) in [(all_keys, keys), (all_values, values)] {
            all.slice_set(&new.squeeze(0)?.transpose(0, 1)?.contiguous()?, 1, start)?;
        }
        Ok((all_keys.narrow(1, 0, start + added)?, all_values.narrow(1, 0, start + added)?))
    }

    /// Counts `tokens` as read, after every layer was extended by them.
    pub(crate) fn advance(&mut self, tokens: &[u32]) {
        self.tokens.extend_from_slice(tokens);
    }
}

/// Writes the first `count` positions of one tensor into another, from `start` on.
fn take_over(to: &Tensor, start: usize, from: &Tensor, count: usize) -> Result<()> {
    to.slice_set(&from.narrow(1, 0, count)?.contiguous()?, 1, start)
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

    /// A cache that begins with `head`.
    pub(crate) fn find(&self, head: &[u32]) -> Option<&KvCache> {
        self.caches.iter().find(|cache| cache.tokens().starts_with(head))
    }

    /// The shortest cache that begins with `head`, which costs least to change.
    pub(crate) fn find_mut(&mut self, head: &[u32]) -> Option<&mut KvCache> {
        let of_it = self.caches.iter_mut().filter(|cache| cache.tokens().starts_with(head));
        of_it.min_by_key(|cache| cache.tokens().len())
    }

    /// Keeps one more, in place of those that were not used for longest where there are too many.
    pub(crate) fn put(&mut self, cache: KvCache) {
        if self.caches.len() == SLOTS {
            self.caches.remove(0);
        }
        self.make_room(cache.room);
        self.caches.push(cache);
    }

    /// Lets those go that were not used for longest, until there is room for so many tokens more.
    fn make_room(&mut self, needed: usize) {
        while !self.caches.is_empty() && needed + self.caches.iter().map(|cache| cache.room).sum::<usize>() > MOST_ROOM
        {
            self.caches.remove(0);
        }
    }

    /// The cache that begins with `head` (or with the part of it that was read before somebody pressed Stop), or
    /// else an unused one, or else the one that was not used for longest, which begins with a copy of what another one
    /// has in common with `head`; cut to what it has in common with `head` followed by `tail`, and always short of the
    /// last token, whose reading gives the first word of the answer.
    pub(crate) fn for_prompt(
        &mut self,
        head: &[u32],
        tail: &[u32],
        fresh: impl FnOnce() -> Result<KvCache>,
    ) -> Result<&mut KvCache> {
        let belongs = |read: &[u32]| read.starts_with(head) || (!read.is_empty() && head.starts_with(read));
        let of_it = self.caches.iter().enumerate().filter(|(_, cache)| belongs(cache.tokens()));
        let found =
            of_it.max_by_key(|(_, cache)| common(cache.tokens(), head.iter().chain(tail))).map(|(index, _)| index);
        let mut cache = match found {
            Some(index) => self.caches.remove(index),
            None if self.caches.len() < SLOTS => fresh()?,
            None => self.caches.remove(0),
        };
        self.make_room((head.len() + tail.len()).max(cache.room));
        if found.is_none() {
            let in_common = |other: &KvCache| common(other.tokens(), head.iter());
            let like = self.caches.iter().max_by_key(|other| in_common(other));
            if let Some(like) = like.filter(|like| in_common(like) >= WORTH_COPYING.max(in_common(&cache))) {
                cache.copy(like, in_common(like))?;
            }
        }
        let last = self.caches.len();
        self.caches.push(cache);
        let cache = &mut self.caches[last];
        let common = common(cache.tokens(), head.iter().chain(tail));
        cache.truncate(common.min((head.len() + tail.len()).saturating_sub(1)));
        Ok(cache)
    }
}

/// Tokens at the beginning that are the same.
fn common<'a>(read: &[u32], prompt: impl Iterator<Item = &'a u32>) -> usize {
    read.iter().zip(prompt).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> KvCache {
        KvCache { layers: Vec::new(), tokens: Vec::new(), room: 0 }
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
    fn a_new_prompt_begins_with_what_another_one_has_in_common_with_it() {
        let mut slots = Slots::new();
        let shared: Vec<u32> = (0..WORTH_COPYING as u32).collect();
        let head = |last: u32| [shared.as_slice(), &[last]].concat();
        fill(&mut slots, &head(90), &[7]);
        assert_eq!(read(&mut slots, &head(91), &[7]).tokens(), shared);
        assert!(read(&mut slots, &[0, 1, 2, 99], &[7]).tokens().is_empty(), "too little to be worth it");
        assert_eq!(read(&mut slots, &head(90), &[7]).tokens(), head(90), "the other one stays as it was");
    }

    #[test]
    fn long_prompts_make_those_leave_that_were_not_used_for_longest() {
        let mut slots = Slots::new();
        let long = |head: u32| vec![head; MOST_ROOM / 2];
        fill(&mut slots, &[1], &[0, 0]);
        for head in [2, 3] {
            fill(&mut slots, &long(head), &[0]);
            read(&mut slots, &long(head), &[0]).reserve(MOST_ROOM / 2).unwrap();
        }
        assert_eq!(slots.caches.len(), 1, "two and a little are too much");
        assert_eq!(read(&mut slots, &long(3), &[1]).tokens().len(), MOST_ROOM / 2);
    }

    #[test]
    fn what_is_put_is_found_and_taken_for_a_prompt_that_begins_so() {
        let mut slots = Slots::new();
        for head in 1..=SLOTS as u32 {
            fill(&mut slots, &[head], &[0, 0]);
        }
        let kept = KvCache { tokens: vec![70, 71, 72], ..empty() };
        slots.put(kept);
        assert!(slots.find(&[70, 71]).is_some() && slots.find(&[71]).is_none());
        assert!(slots.find(&[1]).is_none() && slots.caches.len() == SLOTS, "the oldest made room");
        slots.put(KvCache { tokens: vec![70, 71], ..empty() });
        assert_eq!(slots.find_mut(&[70]).unwrap().tokens(), [70, 71], "the shortest costs least to change");
        assert_eq!(read(&mut slots, &[70, 71, 72, 73], &[7]).tokens(), [70, 71, 72]);
    }

    #[test]
    fn the_prompt_that_was_not_used_for_longest_goes_first() {
        let mut slots = Slots::new();
        for head in 1..=SLOTS as u32 {
            fill(&mut slots, &[head], &[0, 0]);
        }
        fill(&mut slots, &[1], &[0, 0]);
        fill(&mut slots, &[90], &[0, 0]);
        assert_eq!(read(&mut slots, &[1], &[0, 0]).tokens(), [1, 0]);
        assert!(read(&mut slots, &[2], &[0, 0]).tokens().is_empty(), "2 made room for 90");
    }
}
