//! A value that several writers may set at once.

/// The latest value, what set it, and the values that were set at the same time elsewhere.
///
/// Two writers who did not know of each other may contradict: the fold keeps the one that sorts
/// last, and shows the others as rivals, so that nobody's word disappears.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Register<T> {
    value: T,
    set_by: Option<super::EventId>,
    rivals: Vec<(super::EventId, T)>,
}

impl<T: Clone + PartialEq> Register<T> {
    /// Sets the value; `is_after(e)` says whether the setting event knew of `e`.
    pub fn set(&mut self, value: T, by: super::EventId, is_after: &dyn Fn(super::EventId) -> bool) {
        self.rivals.retain(|(event, _)| !is_after(*event));
        if let Some(former) = self.set_by
            && !is_after(former)
            && self.value != value
        {
            self.rivals.push((former, self.value.clone()));
        }
        self.rivals.retain(|(_, rival)| *rival != value);
        self.value = value;
        self.set_by = Some(by);
    }

    /// The value in force.
    pub fn get(&self) -> &T {
        &self.value
    }

    /// The event that set it, if any did.
    pub fn set_by(&self) -> Option<super::EventId> {
        self.set_by
    }

    /// What others set without knowing of the value in force.
    pub fn rivals(&self) -> impl Iterator<Item = &T> {
        self.rivals.iter().map(|(_, value)| value)
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
    use crate::model::EventId;

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
