//! Durations as people type them: `90s`, `5m`, `1h30m`, `500ms`, or plain seconds.

use std::time::Duration;

/// Reads one.
///
/// # Errors
/// Anything else, with what is expected.
pub fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration; write 90s, 5m, 1h30m or 500ms");
    if let Ok(seconds) = text.parse::<f64>() {
        return if seconds > 0.0 && seconds <= 30.0 * 86400.0 {
            Ok(Duration::from_secs_f64(seconds))
        } else {
            Err(wrong())
        };
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits =
            rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|n| *n > 0).ok_or_else(wrong)?;
        let value: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 0.001,
            "s" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            _ => return Err(wrong()),
        };
        rest = &rest[letters..];
        let seconds = value * unit;
        if !(0.0..=30.0 * 86400.0).contains(&seconds) {
            return Err(wrong());
        }
        total += Duration::from_secs_f64(seconds);
    }
    if total.is_zero() { Err(wrong()) } else { Ok(total) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_what_people_type() {
        assert_eq!(parse("1h30m"), Ok(Duration::from_mins(90)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("2"), Ok(Duration::from_secs(2)));
        for wrong in ["", "0", "-1", "5x", "m", "nan", "inf", "1e999", "99999d"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,12}") {
            let _ = parse(&text);
        }
    }
}
