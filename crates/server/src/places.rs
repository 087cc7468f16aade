//! Concurrency limits and byte budgets: a share for each user or network address, and a total.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::UserId;

use crate::config::Limit;

/// Places for one kind of thing, counted per `K`: a user, or a network address (see
/// [`subscriber_network`](platform::client_address::subscriber_network)).
#[derive(Debug)]
pub struct Places<K: Eq + Hash + Copy = UserId>(Arc<Shared<K>>);

#[derive(Debug)]
struct Shared<K> {
    limit: Limit,
    taken: Mutex<Taken<K>>,
}

#[derive(Debug)]
struct Taken<K> {
    by: HashMap<K, usize>,
    all: usize,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The user, or the address, has taken its share.
    Own,
    /// Everybody together has taken all.
    All,
}

/// Places that are taken until this is dropped.
#[derive(Debug)]
pub struct Place<K: Eq + Hash + Copy = UserId> {
    of: Arc<Shared<K>>,
    key: K,
    count: usize,
}

impl<K: Eq + Hash + Copy> Clone for Places<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Eq + Hash + Copy> Places<K> {
    /// Creates a limiter.
    pub fn new(limit: Limit) -> Self {
        let taken = Taken { by: HashMap::new(), all: 0 };
        Self(Arc::new(Shared { limit, taken: Mutex::new(taken) }))
    }

    /// Takes one place.
    pub fn take(&self, key: K) -> Result<Place<K>, Full> {
        let mut place = self.reserve(key);
        place.grow(1)?;
        Ok(place)
    }

    /// Returns a place that counts nothing yet, for what grows while it is held.
    pub fn reserve(&self, key: K) -> Place<K> {
        Place { of: Arc::clone(&self.0), key, count: 0 }
    }

    /// Returns how many are taken.
    pub fn taken(&self) -> usize {
        self.0.taken().all
    }
}

impl<K> Shared<K> {
    fn taken(&self) -> MutexGuard<'_, Taken<K>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Copy> Place<K> {
    /// Takes `more` places beside those that are held already.
    pub fn grow(&mut self, more: usize) -> Result<(), Full> {
        let mut taken = self.of.taken();
        let own = taken.by.get(&self.key).copied().unwrap_or_default().saturating_add(more);
        if own > self.of.limit.each {
            return Err(Full::Own);
        }
        let all = taken.all.saturating_add(more);
        if all > self.of.limit.all {
            return Err(Full::All);
        }
        if own > 0 {
            taken.by.insert(self.key, own);
        }
        taken.all = all;
        self.count += more;
        Ok(())
    }
}

impl<K: Eq + Hash + Copy> Drop for Place<K> {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        taken.all -= self.count;
        if let Some(own) = taken.by.get_mut(&self.key) {
            *own -= self.count;
            if *own == 0 {
                taken.by.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_some_places_and_everybody_together_some_more() {
        let places = Places::new(Limit { each: 2, all: 3 });
        let (one, other) = (UserId::fresh(), UserId::fresh());
        let first = places.take(one).unwrap();
        let _second = places.take(one).unwrap();
        assert_eq!(places.take(one).unwrap_err(), Full::Own);
        let _third = places.take(other).unwrap();
        assert_eq!(places.take(other).unwrap_err(), Full::All);
        drop(first);
        let _fourth = places.take(other).unwrap();
        assert_eq!((places.taken(), places.take(other).unwrap_err()), (3, Full::Own));
    }

    #[test]
    fn a_place_grows_within_its_share_and_gives_all_back() {
        let places = Places::new(Limit { each: 10, all: 15 });
        let mut one = places.reserve('a');
        one.grow(10).unwrap();
        assert_eq!(places.reserve('a').grow(1).unwrap_err(), Full::Own);
        let mut other = places.reserve('b');
        other.grow(5).unwrap();
        assert_eq!((other.grow(1).unwrap_err(), places.taken()), (Full::All, 15));
        drop(one);
        other.grow(5).unwrap();
        assert_eq!(places.taken(), 10);
        drop(other);
        assert_eq!((places.taken(), places.0.taken().by.len()), (0, 0));
    }
}
