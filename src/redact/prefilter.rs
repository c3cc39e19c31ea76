//! One pass over the bytes for the anchor words of all rules.
//!
//! Three bytes at a time, letters folded to lower case, are looked up in a table of 8 KiB that is made
//! at compile time: start-up costs nothing, and bytes without secrets cost one look-up each.

use super::rules::RULES;

/// What an anchor stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    /// A rule of the table, by index.
    Rule(usize),
    /// The first line of a binary patch.
    BinaryPatch,
    /// A marker that an earlier redaction left.
    Marker,
}

const BINARY_PATCH: &str = "git binary patch";
const MARKER: &str = "[redacted:";

const COUNT: usize = {
    let mut count = 2;
    let mut rule = 0;
    while rule < RULES.len() {
        count += RULES[rule].anchors.len();
        rule += 1;
    }
    count
};

static ANCHORS: [(&str, Anchor); COUNT] = {
    let mut all = [(BINARY_PATCH, Anchor::BinaryPatch); COUNT];
    all[1] = (MARKER, Anchor::Marker);
    let mut at = 2;
    let mut rule = 0;
    while rule < RULES.len() {
        let mut index = 0;
        while index < RULES[rule].anchors.len() {
            all[at] = (RULES[rule].anchors[index], Anchor::Rule(rule));
            at += 1;
            index += 1;
        }
        rule += 1;
    }
    all
};

const BITS: u32 = 13;
const NONE: u8 = u8::MAX;

/// Sets the bit that tells small letters from capitals; other bytes may collide, which only costs time.
const fn fold(byte: u8) -> u32 {
    (byte | 0x20) as u32
}

const fn slot(gram: u32) -> usize {
    (gram.wrapping_mul(0x9E37_79B1) >> (32 - BITS)) as usize
}

/// First anchor of each slot, and for each anchor the next one of its slot.
static TABLE: ([u8; 1 << BITS], [u8; COUNT]) = {
    assert!(COUNT < NONE as usize, "anchor numbers are bytes");
    let mut head = [NONE; 1 << BITS];
    let mut next = [NONE; COUNT];
    let mut at = 0;
    while at < COUNT {
        let word = ANCHORS[at].0.as_bytes();
        assert!(word.len() >= 3, "an anchor needs three bytes");
        let place = slot(fold(word[0]) << 16 | fold(word[1]) << 8 | fold(word[2]));
        next[at] = head[place];
        head[place] = at as u8;
        at += 1;
    }
    (head, next)
};

/// Calls `hit` with offset and meaning of every anchor, offsets rising.
#[inline]
pub(super) fn each_anchor(bytes: &[u8], mut hit: impl FnMut(usize, Anchor)) {
    let [first, second, ..] = bytes else { return };
    let mut gram = fold(*first) << 8 | fold(*second);
    for (offset, &byte) in bytes[2..].iter().enumerate() {
        gram = (gram << 8 | fold(byte)) & 0x00FF_FFFF;
        let mut anchor = TABLE.0[slot(gram)];
        while anchor != NONE {
            let (word, meaning) = ANCHORS[usize::from(anchor)];
            if bytes[offset..]
                .get(..word.len())
                .is_some_and(|here| here.eq_ignore_ascii_case(word.as_bytes()))
            {
                hit(offset, meaning);
            }
            anchor = TABLE.1[usize::from(anchor)];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_anchor_is_found_wherever_it_stands() {
        for (word, meaning) in ANCHORS {
            for text in [word.to_owned(), format!("ab{}", word.to_uppercase()), format!("{word}z")] {
                let mut hits = Vec::new();
                each_anchor(text.as_bytes(), |_, hit| hits.push(hit));
                assert!(hits.contains(&meaning), "{text}");
            }
        }
        each_anchor(b"to", |_, _| panic!("too short to hold anything"));
    }
}
