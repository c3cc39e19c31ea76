//! The attempts of the ledger: who, when, how long, and what came out.

use super::super::html::escaped;
use super::{Drawing, WIDTH, fitted};
use crate::model::incident::{Attempt, Incident};
use crate::model::outcome::Bug;
use crate::model::time::human_duration;

/// Attempts of one picture.
const MOST: usize = 60;

/// Draws them, with the same as a table; nothing when there is none.
pub fn draw(incident: &Incident, id: &str) -> Option<String> {
    const ROW: f64 = 28.0;
    const LEFT: f64 = 180.0;
    const RIGHT: f64 = WIDTH - 190.0;
    let attempts = &incident.attempts[..incident.attempts.len().min(MOST)];
    let end = |a: &Attempt| a.ended.as_ref().map_or(a.started.at, |s| s.at).max(a.started.at);
    let first = attempts.iter().map(|a| a.started.at).min()?;
    let last = attempts.iter().map(end).max()?;
    let span = (last.millis() - first.millis()).max(1) as f64;
    let x = |millis: i64| LEFT + (millis - first.millis()) as f64 / span * (RIGHT - LEFT);
    let mut description = String::new();
    let mut rows = String::new();
    let bottom = 10.0 + attempts.len() as f64 * ROW;
    let told: Vec<Told> = attempts.iter().map(|a| tell(a, end(a).millis() - a.started.at.millis())).collect();
    for told in &told {
        description.push_str(&format!(
            "Attempt {} by {}, started {} UTC, {}: {}. ",
            told.number, told.who, told.start, told.length, told.outcome
        ));
        rows.push_str(&format!(
            "<tr><td align=\"right\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
            told.number,
            escaped(&told.who),
            told.start,
            told.length,
            told.outcome
        ));
    }
    let more = incident.attempts.len() - attempts.len();
    if more > 0 {
        description.push_str(&format!("{more} more are not drawn."));
    }
    let title = format!("{} attempts over {}", told.len(), human_duration(span as u64));
    let mut drawing = Drawing::new(id, &title, description.trim_end(), bottom + 26.0);
    drawing.line("axis", (LEFT, bottom), (RIGHT, bottom));
    drawing.text("soft", (LEFT, bottom + 18.0), "start", &format!("{} UTC", first.to_minute()));
    drawing.text("soft", (RIGHT, bottom + 18.0), "end", &format!("{} UTC", last.to_minute()));
    for (row, (attempt, told)) in attempts.iter().zip(&told).enumerate() {
        let middle = 10.0 + (row as f64 + 0.5) * ROW;
        let (from, to) = (x(attempt.started.at.millis()), x(end(attempt).millis()));
        let from = from.min(RIGHT - 8.0);
        drawing.text(
            "",
            (0.0, middle + 4.5),
            "start",
            &fitted(&format!("{} · {}", told.number, told.who), 24),
        );
        drawing.rect(told.class, (from, middle - 8.0), ((to - from).max(8.0), 16.0));
        drawing.text("", (RIGHT + 12.0, middle + 4.5), "start", &told.outcome);
    }
    let table = format!(
        "<details>\n<summary>The attempts as a table</summary>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" \
         aria-label=\"Attempts\">\n<table>\n<thead>\n<tr><th>attempt</th><th>who</th><th>started (UTC)</th><th>length</th>\
         <th>outcome</th></tr>\n</thead>\n<tbody>\n{rows}</tbody>\n</table>\n</div>\n</details>\n"
    );
    let caption = if more > 0 {
        format!("Attempts as the ledger has them, the first {} of {}.", told.len(), incident.attempts.len())
    } else {
        "Attempts as the ledger has them: filled bars fixed the bug, empty ones did not, dashed ones do not say."
            .to_owned()
    };
    Some(drawing.figure(&caption, &table))
}

struct Told {
    number: usize,
    who: String,
    start: String,
    length: String,
    outcome: String,
    class: &'static str,
}

fn tell(attempt: &Attempt, millis: i64) -> Told {
    let who = attempt.started.by.as_ref().map_or_else(
        || "somebody (erased)".to_owned(),
        |by| if by.agent.is_empty() { by.name.clone() } else { format!("{} for {}", by.agent, by.name) },
    );
    let ended = attempt.ended.is_some();
    let (length, outcome) = if ended {
        (
            human_duration(u64::try_from(millis).unwrap_or_default()),
            format!("{}, bug {}", attempt.outcome.hypothesis, attempt.outcome.bug),
        )
    } else {
        ("not ended".to_owned(), "not ended".to_owned())
    };
    let class = match attempt.outcome.bug {
        Bug::Fixed if ended => "fixed",
        Bug::Remains if ended => "remains",
        _ => "unknown",
    };
    Told { number: attempt.ordinal, who, start: attempt.started.at.to_minute(), length, outcome, class }
}
