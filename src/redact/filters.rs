//! Tells secrets from what only stands where a secret could: names, placeholders, digests, paths.

/// Shannon entropy of a value's bytes, in bits per byte (C. E. Shannon, 1948: −Σ p·log₂ p).
pub(super) fn entropy(value: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for &byte in value {
        counts[usize::from(byte)] += 1;
    }
    let total = value.len() as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| f64::from(count) / total)
        .map(|share| -share * share.log2())
        .sum()
}

/// A stand-in that documentation, templates and shells use.
pub(super) fn is_placeholder(value: &[u8]) -> bool {
    const WORDS: [&[u8]; 14] = [
        b"example",
        b"placeholder",
        b"your",
        b"changeme",
        b"change-me",
        b"change_me",
        b"redacted",
        b"dummy",
        b"xxxx",
        b"****",
        b"...",
        b"<",
        b"{{",
        b"undefined",
    ];
    let Some(first) = value.first() else { return true };
    // `${VAR}`, `$(command)`, `$VAR`, `%(name)s`, `{field}`.
    let interpolated = match first {
        b'$' => value.len() > 1 && (value[1].is_ascii_uppercase() || b"{(_".contains(&value[1])),
        b'%' => value.len() > 1 && b"({s".contains(&value[1]),
        b'{' => value.last() == Some(&b'}'),
        _ => false,
    };
    interpolated
        || value.iter().all(|byte| byte == first)
        || contains(value, b"${")
        || WORDS.iter().any(|word| contains_ignoring_case(value, word))
}

fn contains(value: &[u8], word: &[u8]) -> bool {
    value.windows(word.len()).any(|window| window == word)
}

fn contains_ignoring_case(value: &[u8], word: &[u8]) -> bool {
    value.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word))
}

/// `8-4-4-4-12` hex digits.
pub(super) fn is_uuid(value: &[u8]) -> bool {
    value.len() == 36
        && value.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// An address (`0x…`), or a digest that says which (`sha256:…`).
pub(super) fn is_address_or_digest(value: &[u8]) -> bool {
    let hex = |digits: &[u8]| !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    if let Some(digits) = value.strip_prefix(b"0x").or_else(|| value.strip_prefix(b"0X")) {
        return hex(digits);
    }
    let Some(colon) = value.iter().position(|&byte| byte == b':') else {
        return false;
    };
    value[..colon].starts_with(b"sha") && hex(&value[colon + 1..])
}

/// Identifiers, dotted names, file names: words of letters with at most a few digits behind them.
pub(super) fn is_words(value: &[u8]) -> bool {
    value.split(|byte| !byte.is_ascii_alphanumeric()).all(is_word)
}

fn is_word(part: &[u8]) -> bool {
    let letters = part.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let digits = &part[letters..];
    if digits.len() > 4 || !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    // camelCase is several words, none of them endless, with an acronym at most; random letters
    // change case about every second one.
    let (mut humps, mut run, mut acronyms) = (1, 0, 0);
    for three in part[..letters].windows(3) {
        run += 1;
        if three[0].is_ascii_lowercase() && three[1].is_ascii_uppercase() {
            humps += 1;
            run = 0;
        }
        if three[0].is_ascii_uppercase() && three[1].is_ascii_uppercase() && three[2].is_ascii_lowercase() {
            acronyms += 1;
        }
        if run > 14 {
            return false;
        }
    }
    acronyms <= 1 && humps * 3 <= letters.max(3)
}

/// An absolute or relative path of small-letter names.
pub(super) fn is_path(value: &[u8]) -> bool {
    let starts = value.starts_with(b"/") || value.starts_with(b"./") || value.starts_with(b"~/");
    starts
        && value
            .iter()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"/._~-".contains(byte))
}

/// Is the name one under which digests and public things are kept?
pub(super) fn is_harmless_name(name: &[u8]) -> bool {
    const ANYWHERE: [&[u8]; 9] =
        [b"commit", b"digest", b"oid", b"checksum", b"fingerprint", b"md5", b"public", b"pub", b"tokenizer"];
    const LAST: [&[u8]; 14] = [
        b"file", b"path", b"dir", b"url", b"uri", b"name", b"type", b"class", b"count", b"length", b"size",
        b"format", b"expires", b"limit",
    ];
    let is_separator = |byte: &u8| !byte.is_ascii_alphanumeric();
    let mut parts = name.split(is_separator).filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let lower = part.to_ascii_lowercase();
        if lower.starts_with(b"sha") && lower[3..].iter().all(u8::is_ascii_digit)
            || ANYWHERE.contains(&lower.as_slice())
            || last && LAST.contains(&lower.as_slice())
        {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_bits_per_byte() {
        assert!(entropy(b"aaaa").abs() < 1e-12);
        assert!((entropy(b"abababab") - 1.0).abs() < 1e-12);
        assert!((entropy(b"abcdefgh") - 3.0).abs() < 1e-12);
        assert!(entropy(b"").abs() < 1e-12);
    }

    #[test]
    fn words_are_told_from_noise() {
        for words in
            ["self.tokenizer.encode", "MyLongClassName", "getpass-getpass", "torch.float16", "NOT_SET_AT_ALL"]
        {
            assert!(is_words(words.as_bytes()), "{words}");
        }
        for noise in ["qZvTrPwLkXbNmJhG", "a8f3k2m9x7c1v5b0", "kjhgfdsaqwertyuiopz"] {
            assert!(!is_words(noise.as_bytes()), "{noise}");
        }
    }

    #[test]
    fn stand_ins_are_known() {
        for stand_in in [
            "${TOKEN}",
            "$TOKEN",
            "$(pass show x)",
            "your-token-here",
            "xxxxxxxx",
            "****",
            "<token>",
            "{{ x }}",
        ] {
            assert!(is_placeholder(stand_in.as_bytes()), "{stand_in}");
        }
        assert!(!is_placeholder(b"$2b$12$abcdefgh"));
        assert!(
            is_harmless_name(b"token_sha256")
                && is_harmless_name(b"secret.commit")
                && is_harmless_name(b"TOKEN_FILE")
        );
        assert!(!is_harmless_name(b"db_password") && !is_harmless_name(b"file_token"));
    }
}
