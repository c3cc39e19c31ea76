//! Single values of the file: texts, paths, durations, sizes. Errors read after the key's name.

use std::time::Duration;

use toml::de::DeValue;

use super::glob::Glob;

/// No command or path of a sane file is longer, in bytes.
const MAX_TEXT: usize = 16 * 1024;

/// The longest time that can be configured.
const MAX_DURATION: Duration = Duration::from_hours(30 * 24);

/// A value's type with its article.
pub(super) fn described(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a decimal number",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

/// A foreign word for a message: quoted, shortened, control characters escaped.
pub(super) fn shown(word: &str) -> String {
    let short: String = word.chars().take(60).collect();
    let dots = if short.len() < word.len() { "…" } else { "" };
    format!("\"{}{dots}\"", short.escape_debug())
}

/// A text that can be an argument of a program.
pub(super) fn text(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err("must not be empty".into());
    }
    if text.contains('\0') {
        return Err("must not hold a NUL character".into());
    }
    if text.len() > MAX_TEXT {
        return Err(format!("must not be longer than {MAX_TEXT} bytes"));
    }
    Ok(text.to_owned())
}

/// A path with forward slashes that stays inside the directory it is relative to.
pub(super) fn path(path: &str) -> Result<String, String> {
    let path = text(path)?;
    let bytes = path.as_bytes();
    let has_drive = bytes.len() > 1 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':';
    if path.starts_with(['/', '\\', '~']) || has_drive {
        return Err(format!("must be relative to the root of the repository, not {}", shown(&path)));
    }
    if path.split(['/', '\\']).any(|part| part == "..") {
        return Err(format!("must stay inside the repository, not {}", shown(&path)));
    }
    if path.split(['/', '\\']).any(|part| part.eq_ignore_ascii_case(".git")) {
        return Err(format!("must not lead into .git, not {}", shown(&path)));
    }
    Ok(path)
}

/// A glob over paths of the repository.
pub(super) fn glob(pattern: &str) -> Result<String, String> {
    let pattern = text(pattern)?;
    if pattern.split('/').any(|part| part == "..") {
        return Err(format!("must stay inside the repository, not {}", shown(&pattern)));
    }
    match Glob::new(&pattern) {
        Ok(_) => Ok(pattern),
        Err(why) => Err(format!("must be a glob, and {} {why}", shown(&pattern))),
    }
}

/// The name of a program without a path: its version is asked for by running it.
pub(super) fn tool(name: &str) -> Result<String, String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte);
    if name.is_empty() || name.len() > 64 || name.starts_with(['-', '.']) || !name.bytes().all(fits) {
        return Err(format!("must be the name of a program, not {}", shown(name)));
    }
    Ok(name.to_owned())
}

/// `"90s"`, `"5m"`, `"1h30m"`, `"500ms"`: units from large to small, each at most once.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    const UNITS: [(&str, u64); 5] =
        [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    let wrong =
        || format!("must be a duration like \"90s\", \"5m\", \"1h30m\" or \"500ms\", not {}", shown(text));
    let mut rest = text;
    let mut next_unit = 0;
    let mut total: u64 = 0;
    while !rest.is_empty() {
        let (number, after) = leading_number(rest).ok_or_else(wrong)?;
        let word = after.split(|c: char| c.is_ascii_digit()).next().unwrap_or_default();
        let unit = UNITS.iter().position(|(name, _)| *name == word).ok_or_else(wrong)?;
        if unit < next_unit {
            return Err(wrong());
        }
        next_unit = unit + 1;
        total =
            number.checked_mul(UNITS[unit].1).and_then(|part| total.checked_add(part)).ok_or_else(wrong)?;
        rest = &after[word.len()..];
    }
    let duration = Duration::from_millis(total);
    if duration.is_zero() && next_unit > 0 {
        return Err("must be longer than nothing".into());
    }
    if duration.is_zero() {
        return Err(wrong());
    }
    if duration > MAX_DURATION {
        return Err("must not be longer than 30 days".into());
    }
    Ok(duration)
}

/// `"10MiB"`, `"4096"`: bytes, with binary or decimal units.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u64); 8] = [
        ("", 1),
        ("B", 1),
        ("kB", 1000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
        ("GiB", 1 << 30),
    ];
    let wrong = || format!("must be a size like \"512KiB\" or \"10MiB\", not {}", shown(text));
    let (number, word) = leading_number(text).ok_or_else(wrong)?;
    let factor = UNITS.iter().find(|(name, _)| *name == word).ok_or_else(wrong)?.1;
    number.checked_mul(factor).ok_or_else(wrong)
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_or_explained() {
        for (text, millis) in
            [("60s", 60_000), ("5m", 300_000), ("1h30m", 5_400_000), ("500ms", 500), ("1d", 86_400_000)]
        {
            assert_eq!(duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in [
            "",
            "60",
            "s",
            "5m1h",
            "1m1m",
            "-5s",
            "1.5s",
            "0s",
            "99999999999999999999s",
            "31d",
            "5 m",
            "1h30",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_read_or_explained() {
        assert_eq!(size("10MiB"), Ok(10 << 20));
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("2kB"), Ok(2000));
        for text in ["", "MiB", "10 MiB", "10mib", "-1B", "99999999999GiB"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn paths_stay_inside() {
        for inside in ["docs/postmortems", "a..b/c", "o_ref.npy", "./a"] {
            assert!(path(inside).is_ok(), "{inside}");
        }
        for outside in [
            "../a",
            "a/../../b",
            "/etc/passwd",
            "C:\\a",
            "a\\..\\b",
            "~/x",
            "",
            ".git/config",
            "a/.GIT/x",
            "a\0b",
        ] {
            assert!(path(outside).is_err(), "{outside}");
        }
    }
}
