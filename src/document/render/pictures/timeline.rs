//! The document's own timeline, to scale: when things happened, and how long nothing did.

use super::super::super::page::{Kind, Leaf, Page};
use super::{Drawing, WIDTH, fitted};

/// Entries of one picture.
const MOST: usize = 60;

/// What happened when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Minutes: since 1970 when the document names days, else since the first day's midnight.
    pub minute: i64,
    /// The time as it is written.
    pub when: String,
    /// What happened, in one line.
    pub what: String,
}

/// The entries of a document's timeline, in its order, and the title of their section.
pub fn entries(page: &Page<'_>) -> Option<(String, Vec<Entry>)> {
    let section = page.sections.iter().find(|s| s.title.to_lowercase().contains("timeline"))?;
    let mut found: Vec<Entry> = Vec::new();
    let mut day: Option<i64> = page
        .sections
        .iter()
        .filter(|s| s.heading.start <= section.heading.start)
        .rev()
        .find_map(|s| date(&s.title).map(|d| d.0));
    for leaf in page.leaves_in(section) {
        if found.len() == MOST {
            break;
        }
        // Days are often headings within the timeline.
        if let Some((named, _)) = date(&page.section_at(leaf.range.start).title) {
            day = Some(named);
        }
        if let Some(entry) = entry(leaf, &mut day, found.last()) {
            found.push(entry);
        }
    }
    (found.len() >= 2).then(|| (section.title.clone(), found))
}

fn entry(leaf: &Leaf, day: &mut Option<i64>, last: Option<&Entry>) -> Option<Entry> {
    if matches!(leaf.kind, Kind::Code(_) | Kind::Row { head: true }) {
        return None;
    }
    let text = leaf.prose.text.trim_start_matches(|c: char| c.is_whitespace() || "([*_~≈".contains(c));
    let (mut named, mut rest) = (None, text);
    if let Some((found, length)) = date(text) {
        if !text[..length].starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        named = Some(found);
        rest = text[length..].trim_start_matches(|c: char| c.is_whitespace() || "T,|-–—:".contains(c));
    }
    let Some((minute, length)) = clock(rest) else {
        *day = named.or(*day);
        return None;
    };
    let mut on = named.or(*day).unwrap_or_default();
    // Without a day, a clock that falls by half a day has passed midnight.
    if named.is_none() && last.is_some_and(|l| l.minute - (on * 1440 + minute) > 720) {
        on += 1;
    }
    *day = Some(on);
    let after = &rest[length..];
    let zone_end = after.trim_start();
    let zone_end = ["UTC", "GMT", "Z", "z"].iter().find_map(|z| zone_end.strip_prefix(z)).unwrap_or(zone_end);
    let what = zone_end.trim_start_matches(|c: char| c.is_whitespace() || "|-–—:)].,*_".contains(c));
    let when = text[..text.len() - after.len()].trim().to_owned();
    Some(Entry { minute: on * 1440 + minute, when, what: fitted(what, 160) })
}

/// The first `YYYY-MM-DD`: its day since 1970, and where it ends.
fn date(text: &str) -> Option<(i64, usize)> {
    let bytes = text.as_bytes();
    (0..bytes.len().min(400).saturating_sub(9)).find_map(|at| {
        let b = bytes.get(at..at + 10)?;
        let shape = b.iter().enumerate().all(|(i, c)| match i {
            4 | 7 => matches!(c, b'-' | b'/'),
            _ => c.is_ascii_digit(),
        });
        let free = at == 0 || !bytes[at - 1].is_ascii_alphanumeric();
        if !shape || !free || bytes.get(at + 10).is_some_and(u8::is_ascii_digit) {
            return None;
        }
        let number = |r: std::ops::Range<usize>| std::str::from_utf8(&b[r]).ok()?.parse::<u16>().ok();
        let month = time::Month::try_from(number(5..7)? as u8).ok()?;
        let day =
            time::Date::from_calendar_date(i32::from(number(0..4)?), month, number(8..10)? as u8).ok()?;
        Some((i64::from(day.to_julian_day() - time::macros::date!(1970 - 01 - 01).to_julian_day()), at + 10))
    })
}

/// `HH:MM`, perhaps with seconds, at the start: its minute of the day, and its length.
fn clock(text: &str) -> Option<(i64, usize)> {
    let hours = text.bytes().take_while(u8::is_ascii_digit).count();
    let b = text.as_bytes();
    let digits = |at: usize| b.get(at..at + 2).is_some_and(|d| d.iter().all(u8::is_ascii_digit));
    if !(1..=2).contains(&hours) || b.get(hours) != Some(&b':') || !digits(hours + 1) {
        return None;
    }
    let mut end = hours + 3;
    if b.get(end) == Some(&b':') && digits(end + 1) {
        end += 3;
    }
    let (hour, minute): (i64, i64) = (text[..hours].parse().ok()?, text[hours + 1..hours + 3].parse().ok()?);
    (hour < 24 && minute < 60 && !b.get(end).is_some_and(u8::is_ascii_digit))
        .then_some((hour * 60 + minute, end))
}

/// Draws them; nothing when they have no length.
pub fn draw(entries: &[Entry], id: &str) -> Option<String> {
    const LEFT: f64 = 24.0;
    const RIGHT: f64 = WIDTH - 24.0;
    const LANE: f64 = 26.0;
    let first = entries.iter().map(|e| e.minute).min()?;
    let last = entries.iter().map(|e| e.minute).max()?;
    if first == last {
        return None;
    }
    let span = (last - first) as f64;
    let x = |minute: i64| LEFT + (minute - first) as f64 / span * (RIGHT - LEFT);
    // Entries that would touch stand above each other.
    let mut lanes: Vec<f64> = Vec::new();
    let placed: Vec<(f64, usize)> = entries
        .iter()
        .map(|e| {
            let at = x(e.minute);
            let lane = lanes.iter().position(|end| (at - end).abs() >= 24.0).unwrap_or(lanes.len());
            if lane == lanes.len() {
                lanes.push(at);
            } else {
                lanes[lane] = at;
            }
            (at, lane)
        })
        .collect();
    let axis = 14.0 + lanes.len() as f64 * LANE;
    let description: Vec<String> =
        entries.iter().enumerate().map(|(n, e)| format!("{}: {}, {}", n + 1, e.when, e.what)).collect();
    let title = format!("{} events over {}", entries.len(), length(last - first));
    let mut drawing = Drawing::new(id, &title, &description.join(". "), axis + 30.0);
    drawing.line("axis", (LEFT, axis), (RIGHT, axis));
    for (at, lane) in &placed {
        drawing.line("stem", (*at, axis + 4.0), (*at, axis - (*lane as f64 + 0.5) * LANE));
    }
    for (n, (at, lane)) in placed.iter().enumerate() {
        let y = axis - (*lane as f64 + 0.5) * LANE - 2.0;
        drawing.circle("dot", (*at, y), 11.0);
        drawing.text("", (*at, y + 4.5), "middle", &(n + 1).to_string());
    }
    let label = |minute: i64| {
        let of_day = minute.rem_euclid(1440);
        format!("{:02}:{:02}", of_day / 60, of_day % 60)
    };
    drawing.text("soft", (0.0, axis + 22.0), "start", &label(first));
    drawing.text("soft", (WIDTH / 2.0, axis + 22.0), "middle", &length(last - first));
    drawing.text("soft", (WIDTH, axis + 22.0), "end", &label(last));
    Some(drawing.figure("To scale; the numbers are the entries below, in order.", ""))
}

fn length(minutes: i64) -> String {
    match (minutes / 1440, minutes / 60 % 24, minutes % 60) {
        (0, 0, m) => format!("{m} min"),
        (0, h, m) => format!("{h} h {m} min"),
        (d, h, _) => format!("{d} d {h} h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn minutes(text: &str) -> Vec<i64> {
        entries(&Page::parse(text))
            .map(|(_, e)| e.iter().map(|e| e.minute % 1_000_000).collect())
            .unwrap_or_default()
    }

    #[test]
    fn times_are_read_from_lists_tables_and_headings() {
        assert_eq!(
            minutes("## Timeline (UTC)\n\n- 10:00 a\n- **10:30** b\n- 1 c\n- 11:05:59 - d"),
            [600, 630, 665]
        );
        assert_eq!(
            minutes("## Timeline\n\n| Time | What |\n|-|-|\n| 23:50 UTC | a |\n| 00:10 | b |"),
            [1430, 1450]
        );
        let day = 20_453 * 1440 % 1_000_000;
        assert_eq!(
            minutes("# Timeline\n\n### 2025-12-31\n\n- 10:00 a\n\n### 2026-01-01\n\n- 9:00 b"),
            [day + 600, day + 1980]
        );
        assert_eq!(
            minutes("# Timeline\n\n- 2025-12-31 10:00 UTC: a\n- 2025-12-31T11:00:00Z b"),
            [day + 600, day + 660]
        );
        assert!(minutes("# Timeline\n\n- 10:00 a").is_empty());
        assert!(minutes("# Timeline\n\n- 25:00 a\n- 10:99 b\n- 10:000 c").is_empty());
    }

    #[test]
    fn entries_keep_their_words() {
        let text = "# Timeline\n\n- 10:00 UTC — the `queue` **fills**\n- 10:05 - <b>";
        let (title, all) = entries(&Page::parse(text)).unwrap();
        assert_eq!(
            (title.as_str(), all[0].when.as_str(), all[0].what.as_str()),
            ("Timeline", "10:00", "the queue fills")
        );
        let drawn = draw(&all, "x").unwrap();
        assert!(drawn.contains("1: 10:00, the queue fills. 2: 10:05"), "{drawn}");
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "# Timeline\n\n([-|] ?[0-9]{0,4}[-:/T ]?[0-9]{0,3}[:-]?[0-9]{0,3}.{0,5}\n){0,9}") {
            if let Some((_, all)) = entries(&Page::parse(&text)) {
                let drawn = draw(&all, "x").unwrap_or_default();
                prop_assert!(!drawn.contains("NaN"));
            }
        }
    }
}
