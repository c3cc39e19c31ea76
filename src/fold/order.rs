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

/// How many events stand on each root: an event stands on the root to which one comes by going to the earliest
/// of its parents again and again. For events in the order of [`sort`].
pub(super) fn standing_on_roots(events: &[Event]) -> HashMap<EventId, usize> {
    let mut place: HashMap<EventId, usize> = HashMap::with_capacity(events.len());
    let mut root = Vec::with_capacity(events.len());
    let mut count = HashMap::new();
    for (i, event) in events.iter().enumerate() {
        let earliest = event.parents.iter().filter_map(|p| place.get(p)).min();
        let below = earliest.map_or(i, |p| root[*p]);
        root.push(below);
        place.insert(event.id, i);
        *count.entry(events[below].id).or_default() += 1;
    }
    count
}

/// What may be spent on finding out who knew of whom, in steps of a few nanoseconds and four bytes at most.
///
/// Clones that sync need a few steps an event. A hostile ledger of thousands of branches that are joined again and
/// again would need a step for every pair of events.
const MAX_STEPS: usize = 1 << 24;

/// Answers "did this event know of that one?" in constant time.
///
/// The DAG is cut into chains; each event knows how far it has seen along every chain. An event continues any
/// chain whose end it knows, so there are no more chains than branches at one time, however often a ledger
/// forks and joins. Events of one chain share that knowledge: a ledger without forks costs one number an event.
pub struct Ancestry {
    index: HashMap<EventId, usize>,
    place: Vec<(usize, u32)>,
    seen: Vec<Rc<Vec<u32>>>,
    bounded: bool,
}

impl Ancestry {
    /// For events in the order of [`sort`].
    pub fn of(events: &[Event]) -> Self {
        let mut this = Self {
            index: HashMap::with_capacity(events.len()),
            place: Vec::with_capacity(events.len()),
            seen: Vec::with_capacity(events.len()),
            bounded: true,
        };
        let mut lengths: Vec<u32> = Vec::new();
        let mut steps = 0;
        for (i, event) in events.iter().enumerate() {
            let parents: Vec<usize> =
                event.parents.iter().filter_map(|p| this.index.get(p).copied()).collect();
            let is_end = |(chain, n): (usize, u32)| lengths[chain] == n + 1;
            let (chain, knowledge) = match *parents.as_slice() {
                [only] if is_end(this.place[only]) => (Some(this.place[only].0), Rc::clone(&this.seen[only])),
                _ => {
                    let knowledge = this.united(&parents, &mut steps);
                    steps += knowledge.len();
                    let end =
                        knowledge.iter().zip(&lengths).position(|(seen, length)| seen == length && *seen > 0);
                    (end, Rc::new(knowledge))
                }
            };
            let chain = chain.unwrap_or_else(|| {
                lengths.push(0);
                lengths.len() - 1
            });
            this.place.push((chain, lengths[chain]));
            lengths[chain] += 1;
            this.seen.push(knowledge);
            this.index.insert(event.id, i);
            if steps > MAX_STEPS {
                this.bounded = false;
                break;
            }
        }
        this
    }

    /// What some events know together, themselves included.
    fn united(&self, parents: &[usize], steps: &mut usize) -> Vec<u32> {
        let mut united: Vec<u32> = Vec::new();
        for &parent in parents {
            let (chain, n) = self.place[parent];
            let seen = &self.seen[parent];
            let length = seen.len().max(chain + 1);
            if united.len() < length {
                united.resize(length, 0);
            }
            for (into, from) in united.iter_mut().zip(seen.iter()) {
                *into = (*into).max(*from);
            }
            united[chain] = united[chain].max(n + 1);
            *steps += length;
        }
        united
    }

    /// Whether the event at a position of the order was written after, and knowing of, another one.
    ///
    /// In a ledger that is too costly to judge (see `docs/STORAGE.md` §7), every event after all before it.
    pub fn is_after(&self, i: usize, other: EventId) -> bool {
        if !self.bounded {
            return true;
        }
        let Some(&(chain, n)) = self.index.get(&other).map(|o| &self.place[*o]) else {
            return false;
        };
        let (own_chain, own_n) = self.place[i];
        if chain == own_chain {
            return n < own_n;
        }
        self.seen[i].get(chain).is_some_and(|&reach| n < reach)
    }
}
