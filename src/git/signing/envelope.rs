//! A signature's bytes, as `ssh-keygen -Y sign` writes them.
//!
//! The armour is lines of base 64 between two rulers. A record keeps the base 64 alone, on one line.

use sha2::{Digest, Sha256};

const BEGIN: &str = "-----BEGIN SSH SIGNATURE-----";
const END: &str = "-----END SSH SIGNATURE-----";

/// The longest signature that is looked at, in characters of base 64. One by RSA with 16384 bits has 5,600.
const LONGEST: usize = 16 * 1024;

/// What stands at the beginning of every signature.
const MAGIC: &[u8] = b"SSHSIG";

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// What stands between the rulers, on one line.
pub(super) fn strip(armoured: &str) -> Option<String> {
    let inner = armoured.split_once(BEGIN)?.1.split_once(END)?.0;
    let text: String = inner.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    is_signature(&text).then_some(text)
}

/// The signature as a file for `ssh-keygen`; `None` for what cannot be one.
pub(super) fn armour(text: &str) -> Option<String> {
    if !is_signature(text) {
        return None;
    }
    let mut armoured = String::from(BEGIN);
    armoured.push('\n');
    for line in text.as_bytes().chunks(70) {
        armoured.push_str(&String::from_utf8_lossy(line));
        armoured.push('\n');
    }
    armoured.push_str(END);
    armoured.push('\n');
    Some(armoured)
}

fn is_signature(text: &str) -> bool {
    text.len() <= LONGEST && decode(text).is_some_and(|bytes| bytes.starts_with(MAGIC))
}

/// The key a signature says it was made with, as `ssh-keygen -l` prints it: `SHA256:…`.
///
/// It is what the signature claims; only checking it tells whether that is so.
pub fn fingerprint(signature: &str) -> Option<String> {
    if signature.len() > LONGEST {
        return None;
    }
    let bytes = decode(signature)?;
    let rest = bytes.strip_prefix(MAGIC)?.get(4..)?;
    let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
    let key = rest.get(4..)?.get(..length)?;
    Some(format!("SHA256:{}", encode(&Sha256::digest(key)).trim_end_matches('=')))
}

fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0_u32, |word, at| word << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for place in 0..4 {
            let digit = char::from(ALPHABET[(word >> (18 - 6 * place)) as usize & 63]);
            out.push(if place <= chunk.len() { digit } else { '=' });
        }
    }
    out
}

/// Strictly: no white space, padded, nothing behind the padding.
fn decode(text: &str) -> Option<Vec<u8>> {
    let bytes = text.as_bytes();
    if !bytes.len().is_multiple_of(4) {
        return None;
    }
    let padding = bytes.iter().rev().take(2).take_while(|b| **b == b'=').count();
    let mut out = Vec::with_capacity(bytes.len() / 4 * 3);
    for (n, chunk) in bytes.chunks(4).enumerate() {
        let last = (n + 1) * 4 == bytes.len();
        let mut word = 0_u32;
        for (at, byte) in chunk.iter().enumerate() {
            let digit = match ALPHABET.iter().position(|known| known == byte) {
                Some(digit) => digit as u32,
                None if last && at >= 4 - padding => 0,
                None => return None,
            };
            word = word << 6 | digit;
        }
        let keep = if last { 3 - padding } else { 3 };
        out.extend_from_slice(&word.to_be_bytes()[1..=keep]);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn armour_goes_on_and_comes_off() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0, 0, 0, 1, 0, 0, 0, 3, 7, 8, 9]);
        bytes.extend([5; 100]);
        let text = encode(&bytes);
        let armoured = armour(&text).unwrap();
        assert!(armoured.lines().all(|line| line.len() <= 70));
        assert_eq!(strip(&armoured).as_deref(), Some(text.as_str()));
        let digest = encode(&Sha256::digest([7, 8, 9]));
        assert_eq!(fingerprint(&text).unwrap(), format!("SHA256:{}", digest.trim_end_matches('=')));
        for wrong in ["", "AAAA", "not base 64", &text[1..], &format!("{text}\n")] {
            assert_eq!(armour(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn a_key_longer_than_the_signature_is_none() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0, 0, 0, 1, 255, 255, 255, 255, 1]);
        assert_eq!(fingerprint(&encode(&bytes)), None);
    }

    proptest! {
        #[test]
        fn base_64_there_and_back(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_looked_at_without_harm(text in any::<String>()) {
            let _ = (strip(&text), fingerprint(&text), decode(&text));
            if let Some(armoured) = armour(&text) {
                prop_assert_eq!(strip(&armoured), Some(text));
            }
        }
    }
}
