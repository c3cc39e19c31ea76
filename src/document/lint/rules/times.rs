//! Times of day as people write them in timelines.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::document::lint::words::{after, before, re, re_case};

/// A time of day in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) range: Range<usize>,
    /// Minutes since midnight.
    pub(super) minutes: i64,
    pub(super) zone: Option<String>,
}

static CLOCK: LazyLock<Regex> =
    LazyLock::new(|| re(r"([01]?\d|2[0-4]):([0-5]\d)(?::([0-5]\d)(?:[.,]\d+)?)?(?:\s?([ap])\.?m\.?)?"));

static ZONE_NEXT: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"^[\s(\[,]{0,3}(?:(?:UTC|GMT)\s?(?:[+\-−]\s?\d{1,2}(?::?\d{2})?)?|Z\b|(?:EST|EDT|CST|CDT|MST|MDT|PST|PDT|CET|CEST|WET|WEST|EET|EEST|BST|IST|JST|KST|SGT|HKT|AEST|AEDT|ACST|AWST|NZST|NZDT|MSK|SAST|BRT|ART|PKT|ICT|WIB|AKST|HST|PT|ET|CT|MT|US/[A-Z]\w+|Pacific|Eastern|utc|gmt|cet|cest|pst|pdt|est|edt|pt|et)\b|[+\-−]\d{2}:?\d{2}\b)",
    )
});

static ZONE_ANY: LazyLock<Regex> = LazyLock::new(|| {
    re_case(
        r"\b(?:UTC|GMT|EST|EDT|CST|CDT|MST|MDT|PST|PDT|CET|CEST|WET|WEST|EET|EEST|BST|IST|JST|KST|SGT|HKT|AEST|AEDT|ACST|AWST|NZST|NZDT|MSK|SAST|BRT|ART|PKT|ICT|WIB|AKST|HST|PT|ET|utc|gmt|cet|pst|pdt|Zulu)\b|\b(?:[Pp]acific|[Ee]astern|[Cc]entral|[Mm]ountain|[Cc]entral [Ee]uropean|European|London|Berlin|Paris|New York|San Francisco|Tokyo|Japan|India|Indian|Singapore|Sydney|Beijing|China|Moscow|UK|German|Swiss)(?: [Ss]tandard| [Dd]aylight| [Ss]ummer)? [Tt]ime\b|\b(?:US|Europe|America|Asia|Africa|Australia|Pacific|Atlantic)/[A-Z][A-Za-z_]+|\d[T ]?\d{2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+\-]\d{2}:?\d{2})\b",
    )
});

/// Whether a text names a zone anywhere.
pub(super) fn names_zone(text: &str) -> bool {
    ZONE_ANY.is_match(text)
}

/// The times of day in a text. Ports, ratios, lines of files and durations are none.
pub(super) fn clocks(text: &str) -> Vec<Clock> {
    let mut found: Vec<Clock> = Vec::new();
    for caps in CLOCK.captures_iter(text) {
        let (Some(whole), Ok(hour), Ok(minute)) =
            (caps.get(0), caps[1].parse::<i64>(), caps[2].parse::<i64>())
        else {
            continue;
        };
        let front = text[..whole.start()].chars().next_back();
        let back = text[whole.end()..].chars().next();
        // A `T` comes before the time in ISO 8601.
        let iso = front == Some('T') && text[..whole.start() - 1].ends_with(|c: char| c.is_ascii_digit());
        let glued = front
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, ':' | '.' | '/' | '_' | '=' | ','))
            && !iso;
        let more = back.is_some_and(|c| c.is_ascii_digit() || matches!(c, ':' | '%' | '_'))
            || back == Some('.') && text[whole.end() + 1..].starts_with(|c: char| c.is_ascii_digit());
        let before_sign = text[..whole.start()].strip_suffix(['+', '-', '−']);
        // `14:05 +01:00` and `UTC+01:00`: the offset is a zone. `14:05-15:10` is a span.
        let offset = before_sign.is_some_and(|left| {
            let stem = left.trim_end();
            let behind = found.last().is_some_and(|c: &Clock| c.range.end == stem.len())
                && (front == Some('+') || left.len() > stem.len() && hour <= 12);
            minute % 15 == 0 && hour <= 14 && (behind || stem.ends_with("UTC") || stem.ends_with("GMT"))
        });
        if glued || more || offset || caps[1].len() == 1 && caps.get(4).is_none() && caps[1].starts_with('0')
        {
            continue;
        }
        let hour = match caps.get(4).map(|m| m.as_str().to_lowercase()) {
            Some(half) if half == "p" && hour < 12 => hour + 12,
            Some(half) if half == "a" && hour == 12 => 0,
            _ => hour,
        };
        let next = after(text, whole.end(), 24);
        let zone = ZONE_NEXT.find(next).map(|m| {
            m.as_str()
                .trim_matches(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | ','))
                .to_uppercase()
        });
        found.push(Clock { range: whole.range(), minutes: hour * 60 + minute, zone });
    }
    // "from 9:16 PM to 11:16 PM PDT": the first of a pair has the zone of the second.
    for n in (1..found.len()).rev() {
        let between = text.get(found[n - 1].range.end..found[n].range.start).unwrap_or_default().trim();
        let pair = matches!(
            between.to_lowercase().as_str(),
            "-" | "–" | "—" | "to" | "and" | "until" | "till" | "/" | "~" | "->" | "→" | "through"
        );
        if found[n - 1].zone.is_none() && pair {
            let (before, behind) = found.split_at_mut(n);
            before[n - 1].zone.clone_from(&behind[0].zone);
        }
    }
    found
}

/// Whether a time stands where a sentence would put one, and no duration.
pub(super) fn reads_as_time(text: &str, clock: &Clock) -> bool {
    static FRONT: LazyLock<Regex> = LazyLock::new(|| {
        re(
            r"(?:\b(?:at|from|until|till|since|between|around|about|by|before|after|approximately|approx\.?|on|and|to)\s+~?|\d{4}-\d{2}-\d{2}[ T,]*|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z.]*\s+\d{1,2}(?:st|nd|rd|th)?,?(?:\s+\d{4})?,?\s+(?:at\s+)?~?)$",
        )
    });
    let half = text[clock.range.clone()].to_lowercase();
    half.ends_with('m') || half.ends_with("m.") || FRONT.is_match(before(text, clock.range.start, 40))
}

/// Minutes east of UTC of a zone whose offset is beyond doubt.
pub(super) fn offset(zone: &str) -> Option<i64> {
    Some(match zone {
        "UTC" | "GMT" | "Z" => 0,
        "EST" | "CDT" => -300,
        "EDT" => -240,
        "MDT" => -360,
        "MST" | "PDT" => -420,
        "PST" => -480,
        "CET" => 60,
        "CEST" => 120,
        "JST" | "KST" => 540,
        _ => return None,
    })
}

/// A year that leaps, for days whose year nobody wrote.
pub(super) const NO_YEAR: i64 = 2000;

/// A day in a text: days of the proleptic calendar, in [`NO_YEAR`] where no year is written, and where it stands.
pub(super) fn day(text: &str) -> Option<(i64, Range<usize>)> {
    static ISO: LazyLock<Regex> = LazyLock::new(|| re_case(r"\b(\d{4})-(\d{2})-(\d{2})(?:\b|T)"));
    static NAMED: LazyLock<Regex> = LazyLock::new(|| {
        re(
            r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?\s+(\d{1,2})(?:st|nd|rd|th)?\b(?:,?\s+(\d{4})\b)?",
        )
    });
    static TURNED: LazyLock<Regex> = LazyLock::new(|| {
        re(
            r"\b(\d{1,2})(?:st|nd|rd|th)?\s+(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?(?:,?\s+(\d{4})\b)?",
        )
    });
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let month = |name: &str| MONTHS.iter().position(|m| name.eq_ignore_ascii_case(m)).map(|m| m as i64 + 1);
    let number = |text: &str| text.parse::<i64>().ok();
    let year = |m: Option<regex::Match<'_>>| m.and_then(|m| number(m.as_str())).unwrap_or(NO_YEAR);
    let (year, month, date, range) = if let Some(c) = ISO.captures(text) {
        (number(&c[1])?, number(&c[2])?, number(&c[3])?, c.get(0)?.range())
    } else if let Some(c) = NAMED.captures(text) {
        (year(c.get(3)), month(&c[1])?, number(&c[2])?, c.get(0)?.range())
    } else if let Some(c) = TURNED.captures(text) {
        (year(c.get(3)), month(&c[2])?, number(&c[1])?, c.get(0)?.range())
    } else {
        return None;
    };
    if !(1..=12).contains(&month) || !(1..=31).contains(&date) {
        return None;
    }
    // Days from civil, counting years from March.
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + date - 1;
    Some((year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + of_year, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_ports_and_ratios() {
        let all = |text: &str| clocks(text).into_iter().map(|c| (c.minutes, c.zone)).collect::<Vec<_>>();
        let utc = Some("UTC".to_owned());
        assert_eq!(all("14:05 UTC it broke"), [(845, utc.clone())]);
        assert_eq!(
            all("from 9:16 PM to 11:16 PM PDT"),
            [(1276, Some("PDT".into())), (1396, Some("PDT".into()))]
        );
        assert_eq!(all("2026-01-02T03:04:05Z"), [(184, Some("Z".into()))]);
        assert_eq!(all("at 7:56am"), [(476, None)]);
        assert_eq!(all("14:05 +01:00 hung"), [(845, Some("+01:00".into()))]);
        assert_eq!(all("14:05 (UTC+01:00) hung").len(), 1);
        assert_eq!(all("14:05 - 15:10 UTC"), [(845, utc.clone()), (910, utc.clone())]);
        for text in [
            "localhost:8080",
            "a:12:30",
            "src/a.rs:10:20",
            "ratio 16:9",
            "1.2.3.4:10:11",
            "12:345",
            "x=10:20",
        ] {
            assert!(all(text).is_empty(), "{text}: {:?}", all(text));
        }
        assert!(names_zone("All times in CET.") && !names_zone("All times are local"));
    }

    #[test]
    fn days_count() {
        let of = |text: &str| day(text).map(|(d, _)| d);
        assert_eq!(of("2024-03-01").zip(of("29 Feb 2024")).map(|(a, b)| a - b), Some(1));
        assert_eq!(of("January 1st, 2025").zip(of("2024-12-31")).map(|(a, b)| a - b), Some(1));
        assert_eq!(of("Mon | Nov 1 | 17:00").zip(of("Oct 31")).map(|(a, b)| a - b), Some(1));
        assert_eq!(of("02/13/2025"), None);
        assert!(names_zone("at 10:00 US/Pacific") && names_zone("12:28 pm San Francisco time"));
    }
}
