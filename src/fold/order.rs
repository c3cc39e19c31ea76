//! The order of a ledger's events, and which of them knew of which.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::rc::Rc;

use crate::event::Event;
use crate::model::EventId;

/// Sorts events topologically by their parents, ties by (`at`, `id`).
///
/// Parents that are not in the list count for nothing. Events that stand on a cycle (only a forger of
/// SHA-256 could make one) come last, by (`at`, `id`).
pub fn sort(events: Vec<Event>) -> Vec<Event> {
    let index: HashMap<EventId, usize> = events.iter().enumerate().map(|(i, e)| (e.id, i)).collect();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); events.len()];
    let mut waiting = vec![0_usize; events.len()];
    for (i, event) in events.iter().enumerate() {
        for parent in &event.parents {
            if let Some(&p) = index.get(parent) {
                children[p].push(i);
                waiting[i] += 1;
            }
        }
    }
    let key = |i: usize| Reverse((events[i].at, events[i].id, i));
    let mut ready: BinaryHeap<_> = (0..events.len()).filter(|&i| waiting[i] == 0).map(key).collect();
    let mut sequence = Vec::with_capacity(events.len());
    while let Some(Reverse((_, _, i))) = ready.pop() {
        sequence.push(i);
        for &child in &children[i] {
            waiting[child] -= 1;
            if waiting[child] == 0 {
                ready.push(key(child));
            }
        }
    }
    if sequence.len() < events.len() {
        let mut rest: Vec<usize> = (0..events.len()).filter(|&i| waiting[i] > 0).collect();
        rest.sort_by_key(|&i| (events[i].at, events[i].id));
        sequence.extend(rest);
    }
    let mut slots: Vec<Option<Event>> = events.into_iter().map(Some).collect();
    sequence.into_iter().filter_map(|i| slots[i].take()).collect()
}

/// More parallel chains than this, and contradictions are no longer told from successions: a bound on
/// what a hostile ledger may cost, far beyond what clones that sync ever produce.
const MAX_CHAINS: usize = 256;

/// Answers "did this event know of that one?" in constant time.
///
/// The DAG is cut into chains; each event knows how far it has seen along every chain. Events of one
/// chain share that knowledge, so a ledger without forks costs one number an event.
pub struct Ancestry {
    position: HashMap<EventId, (usize, u32)>,
    place: Vec<(usize, u32)>,
    seen: Vec<Rc<Vec<u32>>>,
    bounded: bool,
}

impl Ancestry {
    /// For events in the order of [`sort`].
    pub fn of(events: &[Event]) -> Self {
        let mut position: HashMap<EventId, (usize, u32)> = HashMap::with_capacity(events.len());
        let mut place = Vec::with_capacity(events.len());
        let mut seen: Vec<Rc<Vec<u32>>> = Vec::with_capacity(events.len());
        let mut at: HashMap<EventId, usize> = HashMap::with_capacity(events.len());
        let mut lengths: Vec<u32> = Vec::new();
        let mut bounded = true;
        for (i, event) in events.iter().enumerate() {
            let parents: Vec<usize> = event.parents.iter().filter_map(|p| at.get(p).copied()).collect();
            // Continue the chain of a parent that is still its chain's end.
            let chain = parents
                .iter()
                .map(|&p| place[p])
                .find(|&(c, n): &(usize, u32)| lengths[c] == n + 1)
                .map(|(c, _)| c);
            let chain = chain.unwrap_or_else(|| {
                if lengths.len() < MAX_CHAINS {
                    lengths.push(0);
                } else {
                    bounded = false;
                }
                lengths.len() - 1
            });
            let knowledge = match parents.as_slice() {
                [only] if place[*only].0 == chain => Rc::clone(&seen[*only]),
                _ => {
                    let mut merged: Vec<u32> = Vec::new();
                    for &p in &parents {
                        let (c, n) = place[p];
                        if merged.len() < lengths.len() {
                            merged.resize(lengths.len(), 0);
                        }
                        for (into, from) in merged.iter_mut().zip(seen[p].iter()) {
                            *into = (*into).max(*from);
                        }
                        merged[c] = merged[c].max(n + 1);
                    }
                    Rc::new(merged)
                }
            };
            let here = (chain, lengths[chain]);
            lengths[chain] += 1;
            position.insert(event.id, here);
            place.push(here);
            seen.push(knowledge);
            at.insert(event.id, i);
        }
        Self {
            position,
            place,
            seen,
            bounded,
        }
    }

    /// Whether the event at a position of the order was written after, and knowing of, another one.
    pub fn is_after(&self, i: usize, other: EventId) -> bool {
        if !self.bounded {
            return true;
        }
        let Some(&(chain, n)) = self.position.get(&other) else {
            return false;
        };
        let (own_chain, own_n) = self.place[i];
        if chain == own_chain {
            return n < own_n;
        }
        self.seen[i].get(chain).is_some_and(|&reach| n < reach)
    }
}
