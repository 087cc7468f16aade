//! Concurrency limits and byte budgets: a share for each user or network address, and a total.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::UserId;

/// Bounds of a [`ConcurrencyLimiter`].
#[derive(Debug, Clone, Copy)]
pub struct Limit {
    /// Maximum for one user or network address.
    pub per_user: usize,
    /// Maximum for all of them together.
    pub total: usize,
}

/// A limiter of one resource, with a count for each `K`: a user, or a network address.
#[derive(Debug)]
pub struct ConcurrencyLimiter<K: Eq + Hash + Copy = UserId>(Arc<Inner<K>>);

#[derive(Debug)]
struct Inner<K> {
    limit: Limit,
    used: Mutex<Used<K>>,
}

#[derive(Debug)]
struct Used<K> {
    by_key: HashMap<K, usize>,
    total: usize,
}

/// Why a [`Permit`] was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitReached {
    /// The user or address has reached [`Limit::per_user`].
    User,
    /// All of them together have reached [`Limit::total`].
    Global,
}

/// A counted share of a [`ConcurrencyLimiter`], given back on drop.
#[derive(Debug)]
pub struct Permit<K: Eq + Hash + Copy = UserId> {
    limiter: Arc<Inner<K>>,
    key: K,
    count: usize,
}

impl<K: Eq + Hash + Copy> Clone for ConcurrencyLimiter<K> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<K: Eq + Hash + Copy> ConcurrencyLimiter<K> {
    /// Creates a limiter.
    pub fn new(limit: Limit) -> Self {
        let used = Used { by_key: HashMap::new(), total: 0 };
        Self(Arc::new(Inner { limit, used: Mutex::new(used) }))
    }

    /// Returns a permit for one unit.
    ///
    /// # Errors
    ///
    /// [`LimitReached`] if one more unit would exceed a bound of the limiter.
    pub fn acquire(&self, key: K) -> Result<Permit<K>, LimitReached> {
        let mut permit = self.reserve(key);
        permit.grow(1)?;
        Ok(permit)
    }

    /// Returns a permit for zero units, for a resource whose size is known only as it grows: see [`Permit::grow`].
    pub fn reserve(&self, key: K) -> Permit<K> {
        Permit { limiter: Arc::clone(&self.0), key, count: 0 }
    }

    /// Returns the number of units in use.
    pub fn in_use(&self) -> usize {
        self.0.used().total
    }
}

impl<K> Inner<K> {
    fn used(&self) -> MutexGuard<'_, Used<K>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Copy> Permit<K> {
    /// Adds units to the permit.
    ///
    /// # Errors
    ///
    /// [`LimitReached`] if they would exceed a bound of the limiter; the permit then stays as it was.
    pub fn grow(&mut self, units: usize) -> Result<(), LimitReached> {
        let limit = self.limiter.limit;
        let mut used = self.limiter.used();
        // Both bounds are checked before either count changes, so that a refusal has nothing to undo.
        let own = used.by_key.get(&self.key).copied().unwrap_or_default().saturating_add(units);
        if own > limit.per_user {
            return Err(LimitReached::User);
        }
        let total = used.total.saturating_add(units);
        if total > limit.total {
            return Err(LimitReached::Global);
        }
        if own > 0 {
            used.by_key.insert(self.key, own);
        }
        used.total = total;
        self.count += units;
        Ok(())
    }
}

impl<K: Eq + Hash + Copy> Drop for Permit<K> {
    fn drop(&mut self) {
        let mut used = self.limiter.used();
        used.total -= self.count;
        if let Some(own) = used.by_key.get_mut(&self.key) {
            *own -= self.count;
            // Otherwise the map would keep an entry for every address that ever connected.
            if *own == 0 {
                used.by_key.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_each_user_and_all_of_them_together() {
        let limiter = ConcurrencyLimiter::new(Limit { per_user: 2, total: 3 });
        let (one, other) = (UserId::fresh(), UserId::fresh());
        let first = limiter.acquire(one).unwrap();
        let _second = limiter.acquire(one).unwrap();
        assert_eq!(limiter.acquire(one).unwrap_err(), LimitReached::User);
        let _third = limiter.acquire(other).unwrap();
        assert_eq!(limiter.acquire(other).unwrap_err(), LimitReached::Global);
        drop(first);
        let _fourth = limiter.acquire(other).unwrap();
        assert_eq!((limiter.in_use(), limiter.acquire(other).unwrap_err()), (3, LimitReached::User));
    }

    #[test]
    fn permit_grows_within_the_limits_and_returns_all_units() {
        let limiter = ConcurrencyLimiter::new(Limit { per_user: 10, total: 15 });
        let mut one = limiter.reserve('a');
        one.grow(10).unwrap();
        assert_eq!(limiter.reserve('a').grow(1).unwrap_err(), LimitReached::User);
        let mut other = limiter.reserve('b');
        other.grow(5).unwrap();
        assert_eq!((other.grow(1).unwrap_err(), limiter.in_use()), (LimitReached::Global, 15));
        drop(one);
        other.grow(5).unwrap();
        assert_eq!(limiter.in_use(), 10);
        drop(other);
        assert_eq!((limiter.in_use(), limiter.0.used().by_key.len()), (0, 0));
    }
}
