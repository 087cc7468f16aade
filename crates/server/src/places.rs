//! Places of which each person has some, and everybody together has some more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use domain::UserId;

use crate::config::Limit;

/// Places for one kind of thing.
#[derive(Debug, Clone)]
pub struct Places(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limit: Limit,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    by: HashMap<UserId, usize>,
    all: usize,
}

/// Why there is no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The person has taken all that are theirs.
    Own,
    /// Everybody together has.
    All,
}

/// A place that is taken until this is dropped.
#[derive(Debug)]
pub struct Place {
    of: Arc<Shared>,
    user: UserId,
}

impl Places {
    /// So many.
    pub fn new(limit: Limit) -> Self {
        Self(Arc::new(Shared { limit, taken: Mutex::default() }))
    }

    /// Takes one for a person.
    pub fn take(&self, user: UserId) -> Result<Place, Full> {
        let mut taken = self.0.taken();
        let own = taken.by.get(&user).copied().unwrap_or_default();
        if own >= self.0.limit.each {
            return Err(Full::Own);
        }
        if taken.all >= self.0.limit.all {
            return Err(Full::All);
        }
        taken.by.insert(user, own + 1);
        taken.all += 1;
        Ok(Place { of: Arc::clone(&self.0), user })
    }

    /// How many are taken.
    pub fn taken(&self) -> usize {
        self.0.taken().all
    }
}

impl Shared {
    fn taken(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        taken.all -= 1;
        if let Some(own) = taken.by.get_mut(&self.user) {
            *own -= 1;
            if *own == 0 {
                taken.by.remove(&self.user);
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
}
