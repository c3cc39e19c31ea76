//! UTC times with milliseconds, the only kind a ledger holds.

use std::fmt;

use serde::{Deserialize, Serialize};
use time::{Date, Month, OffsetDateTime, PrimitiveDateTime, Time};

/// Milliseconds since 1970-01-01T00:00:00Z; written `YYYY-MM-DDTHH:MM:SS.mmmZ`, years 1970 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(i64);

/// 9999-12-31T23:59:59.999Z.
const LAST: i64 = 253_402_300_799_999;

impl Timestamp {
    /// From milliseconds since the epoch, held to the years that can be written.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, LAST))
    }

    /// Milliseconds since the epoch.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Reads exactly `YYYY-MM-DDTHH:MM:SS.mmmZ`.
    pub fn parse(text: &str) -> Option<Self> {
        let b = text.as_bytes();
        let shape = b.len() == 24
            && b.iter().enumerate().all(|(i, c)| match i {
                4 | 7 => *c == b'-',
                10 => *c == b'T',
                13 | 16 => *c == b':',
                19 => *c == b'.',
                23 => *c == b'Z',
                _ => c.is_ascii_digit(),
            });
        if !shape {
            return None;
        }
        let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<u16>().ok();
        let month = Month::try_from(u8::try_from(number(5..7)?).ok()?).ok()?;
        let date = Date::from_calendar_date(i32::from(number(0..4)?), month, number(8..10)? as u8).ok()?;
        let time = Time::from_hms_milli(
            number(11..13)? as u8,
            number(14..16)? as u8,
            number(17..19)? as u8,
            number(20..23)?,
        )
        .ok()?;
        let moment = PrimitiveDateTime::new(date, time).assume_utc();
        let millis = i64::try_from(moment.unix_timestamp_nanos() / 1_000_000).ok()?;
        (0..=LAST).contains(&millis).then_some(Self(millis))
    }

    /// The date and minute, as people read it in lists: `2026-03-01 12:30`.
    pub fn to_minute(self) -> String {
        let t = self.moment();
        format!("{:04}-{:02}-{:02} {:02}:{:02}", t.year(), u8::from(t.month()), t.day(), t.hour(), t.minute())
    }

    /// The date: `2026-03-01`.
    pub fn to_date(self) -> String {
        self.to_minute()[..10].to_owned()
    }

    fn moment(self) -> OffsetDateTime {
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0) * 1_000_000)
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let t = self.moment();
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            t.year(),
            u8::from(t.month()),
            t.day(),
            t.hour(),
            t.minute(),
            t.second(),
            t.millisecond()
        )
    }
}

impl TryFrom<String> for Timestamp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or_else(|| format!("{text:?} is no time of the form 2026-03-01T12:30:00.000Z"))
    }
}

impl From<Timestamp> for String {
    fn from(at: Timestamp) -> Self {
        at.to_string()
    }
}

/// A duration in milliseconds as people read it: `450 ms`, `1.2 s`, `12 s`, `3 min 20 s`, `2 h 5 min`.
pub fn human_duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{}.{} s", seconds, millis % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_round_trip() {
        for text in [
            "1970-01-01T00:00:00.000Z",
            "2026-02-28T23:59:59.999Z",
            "9999-12-31T23:59:59.999Z",
            "2024-02-29T00:00:00.001Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "2026-02-29T00:00:00.000Z",
            "2026-02-28T24:00:00.000Z",
            "2026-02-28T23:00:00Z",
            "1969-12-31T23:59:59.999Z",
        ] {
            assert!(Timestamp::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn durations_read_well() {
        assert_eq!(human_duration(450), "450 ms");
        assert_eq!(human_duration(1_450), "1.4 s");
        assert_eq!(human_duration(200_000), "3 min 20 s");
        assert_eq!(human_duration(7_500_000), "2 h 5 min");
    }
}
