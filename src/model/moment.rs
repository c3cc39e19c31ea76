//! Moments as people write them, to the form that a ledger holds.

use time::{Date, Month, PrimitiveDateTime, Time, UtcOffset};

use super::Timestamp;

/// Reads `2026-03-01T09:12Z`, with a space for the `T`, with seconds and fractions, with `UTC` or an offset such as
/// `+01:00` for the `Z`. The zone must be said: a time without one is no moment.
///
/// # Errors
/// What is wrong, in words.
pub fn parse(text: &str) -> Result<Timestamp, String> {
    let text = text.trim();
    let (date, rest) = text.split_once(['T', 't', ' ']).ok_or("a date and a time of day are needed")?;
    let rest = rest.trim_start();
    let end = rest.find(|c: char| !(c.is_ascii_digit() || matches!(c, ':' | '.'))).unwrap_or(rest.len());
    let (clock, zone) = rest.split_at(end);
    let moment =
        PrimitiveDateTime::new(self::date(date)?, self::clock(clock)?).assume_offset(offset(zone.trim())?);
    let millis = i64::try_from(moment.unix_timestamp_nanos() / 1_000_000).map_err(|e| e.to_string())?;
    let read = Timestamp::from_millis(millis);
    if read.millis() == millis { Ok(read) } else { Err("it is before 1970".to_owned()) }
}

fn numbers<T: std::str::FromStr>(text: &str, by: char, lengths: &[usize]) -> Option<Vec<T>> {
    let parts: Vec<&str> = text.split(by).collect();
    let fits = parts.len() == lengths.len()
        && parts.iter().zip(lengths).all(|(p, l)| p.len() == *l && p.bytes().all(|b| b.is_ascii_digit()));
    if fits { parts.iter().map(|p| p.parse().ok()).collect() } else { None }
}

fn date(text: &str) -> Result<Date, String> {
    let wrong = || format!("{text} is no date (YYYY-MM-DD)");
    let n: Vec<u16> = numbers(text, '-', &[4, 2, 2]).ok_or_else(wrong)?;
    let month = Month::try_from(n[1] as u8).map_err(|_| wrong())?;
    Date::from_calendar_date(i32::from(n[0]), month, n[2] as u8).map_err(|_| wrong())
}

fn clock(text: &str) -> Result<Time, String> {
    let wrong = || format!("{text} is no time of day (HH:MM or HH:MM:SS)");
    let (text, fraction) = text.split_once('.').unwrap_or((text, ""));
    let n: Vec<u8> =
        numbers(text, ':', &[2, 2, 2]).or_else(|| numbers(text, ':', &[2, 2])).ok_or_else(wrong)?;
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let millis = format!("{fraction:0<3}")[..3].parse().map_err(|_| wrong())?;
    Time::from_hms_milli(n[0], n[1], n.get(2).copied().unwrap_or(0), millis).map_err(|_| wrong())
}

fn offset(text: &str) -> Result<UtcOffset, String> {
    if matches!(text, "Z" | "z" | "UTC") {
        return Ok(UtcOffset::UTC);
    }
    let wrong = || {
        if text.is_empty() {
            "its zone is not said: end it with Z, UTC or an offset such as +01:00".to_owned()
        } else {
            format!("{text} is no zone (Z, UTC, +01:00)")
        }
    };
    let (sign, rest) = match text.split_at_checked(1) {
        Some(("+", rest)) => (1, rest),
        Some(("-", rest)) => (-1, rest),
        _ => return Err(wrong()),
    };
    let rest = if rest.len() == 4 && rest.is_ascii() {
        format!("{}:{}", &rest[..2], &rest[2..])
    } else {
        rest.to_owned()
    };
    let n: Vec<i8> = numbers(&rest, ':', &[2, 2]).ok_or_else(wrong)?;
    if n[1] > 59 {
        return Err(wrong());
    }
    UtcOffset::from_hms(sign * n[0], sign * n[1], 0).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_with_their_zone() {
        for text in [
            "2026-03-01T09:12Z",
            "2026-03-01 09:12 UTC",
            "2026-03-01T09:12:00.000Z",
            "2026-03-01T10:12:00+01:00",
            "2026-03-01 04:12 -0500",
            " 2026-03-01t09:12:00.0009z ",
        ] {
            let read = parse(text).map(|t| t.to_string());
            assert_eq!(read.as_deref(), Ok("2026-03-01T09:12:00.000Z"), "{text}");
        }
        for text in [
            "",
            "09:12Z",
            "2026-03-01",
            "2026-03-01T09:12",
            "2026-03-01T09:12 CET",
            "2026-02-30T09:12Z",
            "2026-03-01T24:00Z",
            "2026-03-01T09:12:60Z",
            "2026-03-01T09:12+1",
            "2026-03-01T09:12+01:60",
            "1960-03-01T09:12Z",
            "2026-03-01T9:12Z",
            "２026-03-01T09:12Z",
            "2026-03-01T09:12+é1:00",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("2026-03-01T09:12").is_err_and(|why| why.contains("zone")));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_moment_or_none(text in r"[0-9TZ:. +é-]{0,30}") {
            let _ = parse(&text);
        }
    }
}
