//! Where mismatches fall: how many each index of each axis has.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::validate::compare::{Axis, LONGEST_AXIS};

/// What all threads together may spend on counters of their own, in bytes; longer axes are counted in common.
const OWN: u64 = 2 << 20;

/// The axes of a shape, and the counters that the threads share.
pub(super) struct Axes {
    shape: Vec<u64>,
    shared: Option<Vec<Vec<AtomicU64>>>,
}

/// One thread's counters.
pub(super) struct Counts {
    own: Vec<Vec<u64>>,
}

impl Axes {
    pub(super) fn new(shape: &[u64], threads: usize) -> Self {
        let lengths = || shape.iter().map(|&length| if length > LONGEST_AXIS { 0 } else { length });
        let bytes: u64 = lengths().map(|length| length * 8 * threads as u64).sum();
        let shared = (bytes > OWN)
            .then(|| lengths().map(|length| (0..length).map(|_| AtomicU64::new(0)).collect()).collect());
        Self { shape: shape.to_vec(), shared }
    }

    /// Counters for one thread.
    pub(super) fn counts(&self) -> Counts {
        let own = |length: u64| if self.shared.is_some() || length > LONGEST_AXIS { 0 } else { length };
        Counts { own: self.shape.iter().map(|&length| vec![0; own(length) as usize]).collect() }
    }

    fn add(&self, counts: &mut Counts, axis: usize, index: u64, by: u64) {
        if let Some(count) = counts.own[axis].get_mut(index as usize) {
            *count += by;
        } else if let Some(count) = self.shared.as_ref().and_then(|shared| shared[axis].get(index as usize)) {
            count.fetch_add(by, Ordering::Relaxed);
        }
    }

    /// Counts the elements that are marked 1, the first of which stands at `start`.
    pub(super) fn count(&self, counts: &mut Counts, start: u64, wrong: &[u8]) {
        let Some((&row, outer)) = self.shape.split_last() else {
            return;
        };
        let last = outer.len();
        let mut column = start % row;
        let mut line = start / row;
        let mut rest = wrong;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min((row - column) as usize));
            let total: u64 = now.iter().map(|&wrong| u64::from(wrong)).sum();
            if total > 0 {
                let own = counts.own[last].get_mut(column as usize..column as usize + now.len());
                if let Some(own) = own {
                    for (count, wrong) in own.iter_mut().zip(now) {
                        *count += u64::from(*wrong);
                    }
                } else {
                    for (i, _) in now.iter().enumerate().filter(|(_, wrong)| **wrong != 0) {
                        self.add(counts, last, column + i as u64, 1);
                    }
                }
                let mut left = line;
                for (axis, &length) in outer.iter().enumerate().rev() {
                    self.add(counts, axis, left % length, total);
                    left /= length;
                }
            }
            (column, line, rest) = (0, line + 1, later);
        }
    }

    /// All counts together.
    pub(super) fn finish(self, counts: Counts) -> Vec<Axis> {
        match self.shared {
            Some(shared) => shared
                .into_iter()
                .map(|counts| Axis { counts: counts.into_iter().map(AtomicU64::into_inner).collect() })
                .collect(),
            None => counts.own.into_iter().map(|counts| Axis { counts }).collect(),
        }
    }
}

impl Counts {
    /// Adds another thread's.
    pub(super) fn join(&mut self, other: &Self) {
        for (own, other) in self.own.iter_mut().zip(&other.own) {
            for (own, other) in own.iter_mut().zip(other) {
                *own += other;
            }
        }
    }
}
