//! A value that several writers may set at once.

use super::EventId;

/// What others said of the same thing without knowing of what counts now, and in which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rivals<T> {
    values: Vec<T>,
    events: Vec<EventId>,
}

impl<T: PartialEq> Rivals<T> {
    /// Something else is said; `former` is what counted until now, with the event that said it.
    ///
    /// What its writer knew of is settled, what says the same contradicts nothing. `is_after(e)` says whether the
    /// event knew of `e`.
    pub fn update(&mut self, former: Option<(EventId, T)>, now: &T, is_after: &dyn Fn(EventId) -> bool) {
        let events = std::mem::take(&mut self.events);
        let known = events.into_iter().zip(std::mem::take(&mut self.values));
        for (event, value) in known.chain(former) {
            if !is_after(event) && value != *now {
                self.add(event, value);
            }
        }
    }

    /// Adds one.
    pub fn add(&mut self, event: EventId, value: T) {
        self.events.push(event);
        self.values.push(value);
    }
}

impl<T> Default for Rivals<T> {
    fn default() -> Self {
        Self { values: Vec::new(), events: Vec::new() }
    }
}

impl<T> std::ops::Deref for Rivals<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.values
    }
}

impl<'a, T> IntoIterator for &'a Rivals<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.values.iter()
    }
}

/// The latest value, what set it, and the values that were set at the same time elsewhere.
///
/// Two writers who did not know of each other may contradict: the fold keeps the one that sorts
/// last, and shows the others as rivals, so that nobody's word disappears.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Register<T> {
    value: T,
    set_by: Option<EventId>,
    rivals: Rivals<T>,
}

impl<T: Clone + PartialEq> Register<T> {
    /// Sets the value; `is_after(e)` says whether the setting event knew of `e`.
    pub fn set(&mut self, value: T, by: EventId, is_after: &dyn Fn(EventId) -> bool) {
        let former = self.set_by.map(|event| (event, self.value.clone()));
        self.rivals.update(former, &value, is_after);
        self.value = value;
        self.set_by = Some(by);
    }

    /// The value in force.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// The event that set it, if any did.
    pub fn set_by(&self) -> Option<EventId> {
        self.set_by
    }

    /// What others set without knowing of the value in force.
    pub fn rivals(&self) -> impl Iterator<Item = &T> {
        self.rivals.iter()
    }
}

impl<T> std::ops::Deref for Register<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> EventId {
        EventId::from_bytes([n; 32])
    }

    #[test]
    fn keeps_rivals_until_someone_has_seen_both() {
        let mut register = Register::<&str>::default();
        register.set("closed", id(1), &|_| true);
        register.set("reopened", id(2), &|_| false);
        assert_eq!(register.rivals().collect::<Vec<_>>(), [&"closed"]);
        register.set("closed", id(3), &|e| e == id(1) || e == id(2));
        assert_eq!(register.rivals().count(), 0);
        assert_eq!(*register.get(), "closed");
    }
}
